#include "schedule/exact.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "schedule/assignment.h"

namespace ampere {
namespace {

constexpr int kMostRounds = 300;
constexpr std::size_t kMostEnumerated = 14;
using Jobs = std::vector<std::size_t>;

class Decomposition {
 public:
  explicit Decomposition(PlanDraft& draft)
      : draft_(draft), workshop_(draft.workshop()), released_s_(earliest_starts(workshop_)) {}

  ExactResult run() {
    add_sums();
    for (std::size_t d = 0; d < workshop_.device_count(); ++d) add_impossible_sets(d);
    ExactResult result;
    while (result.rounds < kMostRounds) {
      ++result.rounds;
      const Assignment best = best_assignment(workshop_, limits_);
      result.bound = best.value;
      if (best.value <= draft_.value() * (1 + kRounding) + kRounding) {
        result.proven = true;
        return result;
      }
      if (refuse_lanes(best.chosen)) continue;
      const JointSequence joint = together(best.chosen);
      if (joint.answer == Answer::kUnknown) return result;
      if (joint.answer == Answer::kNo) {
        forbid(smaller(best.chosen));
        continue;
      }
      take_over(joint.order);
      result.proven = true;
      return result;
    }
    return result;
  }

 private:
  bool runs(std::size_t device, const Jobs& jobs) const {
    return sequence_of(workshop_, device, jobs, released_s_).has_value();
  }

  void forbid(const std::vector<Assigned>& set) {
    Limit limit;
    for (const Assigned& a : set) limit.terms.push_back({a, 1});
    limit.most = static_cast<double>(set.size()) - 1;
    limits_.push_back(std::move(limit));
  }
  void forbid(std::size_t device, const Jobs& jobs) {
    std::vector<Assigned> set;
    for (std::size_t j : jobs) set.push_back({j, device});
    forbid(set);
  }

  // What no order can change: the time and the energy that there are.
  void add_sums() {
    double last = 0;
    for (const ScheduleJob& j : workshop_.problem.jobs) last = std::max(last, j.deadline_s);
    for (std::size_t d = 0; d < workshop_.device_count(); ++d) {
      double time = 0;
      for (const TimeWindow& w : workshop_.problem.devices[d].available)
        time += std::max(0.0, std::min(w.end_s, last) - w.start_s);
      Limit times{{}, time}, energies{{}, workshop_.supplies[d].usable_j(last)};
      for (std::size_t j = 0; j < workshop_.job_count(); ++j) {
        times.terms.push_back({{j, d}, workshop_.demand(j, d).slot_s});
        energies.terms.push_back({{j, d}, workshop_.demand(j, d).energy_j});
      }
      for (Limit& limit : std::vector<Limit>{times, energies}) {
        if (limit.most == kNever) continue;
        // In units of what there is, and not tighter than rounding allows.
        for (Limit::Term& t : limit.terms) t.weight /= std::max(1e-9, limit.most);
        limit.most = 1 + 1e-6;
        limits_.push_back(limit);
      }
    }
  }

  // What a device cannot run, before the program is asked: all of it for few jobs, else the small sets, which
  // matter most.
  void add_impossible_sets(std::size_t device) {
    Jobs jobs;
    for (std::size_t j = 0; j < workshop_.job_count(); ++j) {
      if (workshop_.demand(j, device).possible) jobs.push_back(j);
    }
    const std::size_t largest = jobs.size() <= kMostEnumerated ? jobs.size() : 3;
    for (const Jobs& set : impossible_sets(workshop_, device, jobs, released_s_, largest))
      forbid(device, set);
  }

  // Forbids what a device cannot run by itself, made as small as possible: the smaller, the more it forbids.
  bool refuse_lanes(const std::vector<Assigned>& chosen) {
    bool refused = false;
    for (std::size_t d = 0; d < workshop_.device_count(); ++d) {
      Jobs jobs;
      for (const Assigned& a : chosen) {
        if (a.device == d) jobs.push_back(a.job);
      }
      if (jobs.empty() || runs(d, jobs)) continue;
      for (std::size_t i = 0; i < jobs.size();) {
        Jobs fewer = jobs;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        runs(d, fewer) ? void(++i) : void(jobs = fewer);
      }
      forbid(d, jobs);
      refused = true;
    }
    return refused;
  }

  // Lane by lane where nobody waits for another device.
  JointSequence together(const std::vector<Assigned>& chosen) const {
    std::vector<std::size_t> device(workshop_.job_count(), kNowhere);
    for (const Assigned& a : chosen) device[a.job] = a.device;
    for (const Assigned& a : chosen) {
      for (std::size_t other : workshop_.problem.jobs[a.job].depends_on) {
        if (device[other] != a.device) return joint_sequence_of(workshop_, chosen);
      }
    }
    JointSequence apart{Answer::kYes, {}};
    for (std::size_t d = 0; d < workshop_.device_count(); ++d) {
      Jobs jobs;
      for (const Assigned& a : chosen) {
        if (a.device == d) jobs.push_back(a.job);
      }
      const auto sequence = sequence_of(workshop_, d, jobs, released_s_);
      if (!sequence) return {Answer::kNo, {}};
      for (std::size_t j : *sequence) apart.order.push_back({j, d});
    }
    return apart;
  }

  // Leaves out what is not needed for a set to be impossible; who waits for a job goes with it.
  std::vector<Assigned> smaller(std::vector<Assigned> set) const {
    for (std::size_t i = 0; i < set.size();) {
      std::vector<bool> out(workshop_.job_count(), false);
      out[set[i].job] = true;
      for (std::size_t j : workshop_.order) {
        const auto& needs = workshop_.problem.jobs[j].depends_on;
        if (std::any_of(needs.begin(), needs.end(), [&](std::size_t n) { return out[n]; })) out[j] = true;
      }
      std::vector<Assigned> fewer = set;
      std::erase_if(fewer, [&](const Assigned& a) { return out[a.job]; });
      if (!fewer.empty() && joint_sequence_of(workshop_, fewer).answer == Answer::kNo) {
        set = fewer;
        i = 0;
      } else {
        ++i;
      }
    }
    return set;
  }

  void take_over(const std::vector<Assigned>& order) {
    PlanDraft plan(workshop_);
    for (const Assigned& a : order) {
      Jobs sequence;
      for (const DraftJob& d : plan.lane(a.device)) sequence.push_back(d.job);
      sequence.push_back(a.job);
      auto lane = plan.lane_of(sequence, a.device);
      if (!lane) throw Error(ErrorKind::kFailed, "an order that was found to fit does not");
      plan.put(a.device, std::move(*lane));
    }
    draft_ = std::move(plan);
  }

  PlanDraft& draft_;
  const Workshop& workshop_;
  std::vector<double> released_s_;
  std::vector<Limit> limits_;
};

}  // namespace

ExactResult plan_exactly(PlanDraft& draft) {
  if (draft.workshop().job_count() > kMostExactJobs) {
    throw bad_input("the exact solver takes at most " + std::to_string(kMostExactJobs) + " jobs, found " +
                    std::to_string(draft.workshop().job_count()) + "; use the heuristic");
  }
  return Decomposition(draft).run();
}

}  // namespace ampere

#include "schedule/sequence.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace ampere {
namespace {

struct Partial {
  LaneState state;
  std::vector<std::size_t> sequence;
};

// Nothing that follows can go better from `b` than from `a`.
bool dominates(const Supply& supply, const LaneState& a, const LaneState& b) {
  if (a.time_s > b.time_s) return false;
  return !supply.has_battery() || supply.advance(a.level_j, a.time_s, b.time_s, 0).level_j >= b.level_j;
}

void keep(const Supply& supply, std::vector<Partial>& front, Partial&& candidate) {
  for (const Partial& p : front) {
    if (dominates(supply, p.state, candidate.state)) return;
  }
  std::erase_if(front, [&](const Partial& p) { return dominates(supply, candidate.state, p.state); });
  front.push_back(std::move(candidate));
}

// Dynamic programming over subsets of a device's jobs. The same subset in another order may leave an earlier
// time or a fuller battery, so each keeps all states that no other dominates.
class SubsetSearch {
 public:
  using Fronts = std::unordered_map<std::uint32_t, std::vector<Partial>>;

  SubsetSearch(const Workshop& workshop, std::size_t device, const std::vector<std::size_t>& jobs,
               const std::vector<double>& released_s)
      : workshop_(workshop),
        device_(device),
        jobs_(jobs),
        released_s_(released_s),
        waiting_(jobs.size(), 0),
        fronts_{{0, {{initial_state(workshop.supplies[device]), {}}}}} {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto& waiting = workshop.dependents[jobs[i]];
      for (std::size_t k = 0; k < jobs.size(); ++k) {
        if (std::find(waiting.begin(), waiting.end(), jobs[k]) != waiting.end()) waiting_[i] |= 1u << k;
      }
    }
  }

  // Subsets that can be run, with one job more after each call.
  const Fronts& fronts() const { return fronts_; }

  void grow() {
    const Supply& supply = workshop_.supplies[device_];
    Fronts next;
    for (const auto& [mask, front] : fronts_) {
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        // Not behind those that wait for it.
        if ((mask >> i & 1u) != 0 || (waiting_[i] & mask) != 0) continue;
        const Demand& demand = workshop_.demand(jobs_[i], device_);
        if (!demand.possible) continue;
        for (const Partial& p : front) {
          const Slot slot = next_slot(supply, workshop_.problem.devices[device_].available, p.state, demand,
                                      released_s_[jobs_[i]], workshop_.problem.jobs[jobs_[i]].deadline_s);
          if (!slot.fits) continue;
          Partial longer{slot.after, p.sequence};
          longer.sequence.push_back(jobs_[i]);
          keep(supply, next[mask | 1u << i], std::move(longer));
        }
      }
    }
    fronts_ = std::move(next);
  }

 private:
  const Workshop& workshop_;
  std::size_t device_;
  const std::vector<std::size_t>& jobs_;
  const std::vector<double>& released_s_;
  std::vector<std::uint32_t> waiting_;  // by job: those that wait for it, as a mask
  Fronts fronts_;
};

constexpr std::size_t kMostNodes = 200'000;

// Depth first, starts never going back, so that each combination of orders is met once.
class JointSearch {
 public:
  JointSearch(const Workshop& workshop, const std::vector<Assigned>& set)
      : workshop_(workshop), set_(set), done_(set.size(), false), end_s_(workshop.job_count(), -1) {
    for (const Supply& s : workshop.supplies) states_.push_back(initial_state(s));
  }

  JointSequence run() {
    const bool found = extend(0);
    return {found                  ? Answer::kYes
            : nodes_ >= kMostNodes ? Answer::kUnknown
                                   : Answer::kNo,
            found ? order_ : std::vector<Assigned>{}};
  }

 private:
  bool extend(double last_start_s) {
    if (order_.size() == set_.size()) return true;
    for (std::size_t i = 0; i < set_.size(); ++i) {
      if (done_[i]) continue;
      const auto [job, device] = set_[i];
      const auto& needs = workshop_.problem.jobs[job].depends_on;
      if (std::any_of(needs.begin(), needs.end(), [&](std::size_t n) { return end_s_[n] < 0; })) continue;
      if (++nodes_ >= kMostNodes) return false;
      double release = workshop_.problem.jobs[job].earliest_s;
      for (std::size_t n : needs) release = std::max(release, end_s_[n]);
      const LaneState before = states_[device];
      const Slot slot =
          next_slot(workshop_.supplies[device], workshop_.problem.devices[device].available, before,
                    workshop_.demand(job, device), release, workshop_.problem.jobs[job].deadline_s);
      if (!slot.fits || slot.start_s < last_start_s) continue;
      done_[i] = true;
      states_[device] = slot.after;
      end_s_[job] = slot.after.time_s;
      order_.push_back(set_[i]);
      if (extend(slot.start_s)) return true;
      order_.pop_back();
      end_s_[job] = -1;
      states_[device] = before;
      done_[i] = false;
    }
    return false;
  }

  const Workshop& workshop_;
  const std::vector<Assigned>& set_;
  std::vector<bool> done_;
  std::vector<double> end_s_;  // by job; -1: not run yet
  std::vector<LaneState> states_;
  std::vector<Assigned> order_;
  std::size_t nodes_ = 0;
};

}  // namespace

std::vector<double> earliest_starts(const Workshop& w) {
  std::vector<double> start(w.job_count()), length(w.job_count(), kNever);
  for (std::size_t j = 0; j < w.job_count(); ++j) {
    for (std::size_t d = 0; d < w.device_count(); ++d) {
      if (w.demand(j, d).possible) length[j] = std::min(length[j], w.demand(j, d).slot_s);
    }
  }
  for (std::size_t j : w.order) {
    start[j] = w.problem.jobs[j].earliest_s;
    for (std::size_t other : w.problem.jobs[j].depends_on)
      start[j] = std::max(start[j], start[other] + length[other]);
  }
  return start;
}

std::optional<std::vector<std::size_t>> sequence_of(const Workshop& workshop, std::size_t device,
                                                    const std::vector<std::size_t>& jobs,
                                                    const std::vector<double>& released_s) {
  SubsetSearch search(workshop, device, jobs, released_s);
  for (std::size_t size = 0; size < jobs.size(); ++size) search.grow();
  if (search.fronts().empty()) return std::nullopt;
  return search.fronts().begin()->second.front().sequence;
}

std::vector<std::vector<std::size_t>> impossible_sets(const Workshop& workshop, std::size_t device,
                                                      const std::vector<std::size_t>& jobs,
                                                      const std::vector<double>& released_s,
                                                      std::size_t largest) {
  SubsetSearch search(workshop, device, jobs, released_s);
  std::vector<std::vector<std::size_t>> impossible;
  for (std::size_t size = 1; size <= std::min(largest, jobs.size()); ++size) {
    // Sets of one job more than those that can be run, of which every smaller one can be.
    std::unordered_set<std::uint32_t> candidates;
    const auto smaller = search.fronts();
    for (const auto& [mask, front] : smaller) {
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if ((mask >> i & 1u) == 0) candidates.insert(mask | 1u << i);
      }
    }
    search.grow();
    for (std::uint32_t mask : candidates) {
      if (search.fronts().contains(mask)) continue;
      std::vector<std::size_t> set;
      bool minimal = true;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if ((mask >> i & 1u) == 0) continue;
        set.push_back(jobs[i]);
        minimal = minimal && smaller.contains(mask & ~(1u << i));
      }
      if (minimal) impossible.push_back(std::move(set));
    }
  }
  // In an order that does not depend on how a hash table is laid out.
  std::sort(impossible.begin(), impossible.end());
  return impossible;
}

JointSequence joint_sequence_of(const Workshop& workshop, const std::vector<Assigned>& set) {
  return JointSearch(workshop, set).run();
}

}  // namespace ampere

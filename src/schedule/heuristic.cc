#include "schedule/heuristic.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace ampere {
namespace {

constexpr double kMostLoss = 1;          // that a step may cost at first, in values of an average job
constexpr std::size_t kMostTaken = 4;    // jobs taken out in one step
constexpr std::size_t kOthersTried = 6;  // of the refused, beside the one a step is about

class Search {
 public:
  Search(PlanDraft& draft, const HeuristicOptions& options)
      : draft_(draft), workshop_(draft.workshop()), options_(options), random_(options.seed) {
    const std::size_t devices = workshop_.device_count();
    by_share_.resize(workshop_.job_count());
    for (std::size_t j = 0; j < by_share_.size(); ++j) {
      for (std::size_t d = 0; d < devices; ++d) {
        if (workshop_.demand(j, d).possible) by_share_[j].push_back(d);
      }
      std::stable_sort(by_share_[j].begin(), by_share_[j].end(), [&](std::size_t a, std::size_t b) {
        return workshop_.share(j, a) < workshop_.share(j, b);
      });
    }
    rate();
  }

  void run() {
    std::vector<std::size_t> all(workshop_.job_count());
    std::iota(all.begin(), all.end(), 0);
    fill(by_rating(all, 0));
    improve();
  }

 private:
  double uniform() { return std::uniform_real_distribution<>(0, 1)(random_); }
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  // Value per share; a job that others wait for is worth at least as much as the best of them.
  void rate() {
    ratings_.assign(workshop_.job_count(), 0);
    for (auto j = workshop_.order.rbegin(); j != workshop_.order.rend(); ++j) {
      const double share = by_share_[*j].empty() ? 1 : workshop_.share(*j, by_share_[*j].front());
      ratings_[*j] = workshop_.problem.jobs[*j].value / std::max(1e-12, share);
      for (std::size_t waits : workshop_.dependents[*j])
        ratings_[*j] = std::max(ratings_[*j], ratings_[waits]);
    }
  }

  // The best first, with ratings known only to within `noise`; dependencies before what waits for them.
  std::vector<std::size_t> by_rating(std::vector<std::size_t> jobs, double noise) {
    std::vector<std::pair<double, std::size_t>> rated;
    rated.reserve(jobs.size());
    for (std::size_t j : jobs) rated.emplace_back(-ratings_[j] * (1 + noise * uniform()), j);
    std::stable_sort(rated.begin(), rated.end());
    std::transform(rated.begin(), rated.end(), jobs.begin(), [](const auto& r) { return r.second; });
    return jobs;
  }

  bool insert(std::size_t job) {
    if (draft_.holds(job)) return true;
    for (std::size_t needed : workshop_.problem.jobs[job].depends_on) {
      if (!insert(needed)) return false;
    }
    return std::any_of(by_share_[job].begin(), by_share_[job].end(),
                       [&](std::size_t device) { return insert(job, device); });
  }

  bool insert(std::size_t job, std::size_t device) {
    if (draft_.holds(job)) return true;
    if (!draft_.can_start(job) && !insert_needs(job)) return false;
    std::optional<Lane> lane = draft_.lane_with(job, device);
    if (!lane) return false;
    draft_.put(device, std::move(*lane));
    return true;
  }

  bool insert_needs(std::size_t job) {
    const auto& needs = workshop_.problem.jobs[job].depends_on;
    return std::all_of(needs.begin(), needs.end(), [&](std::size_t needed) { return insert(needed); });
  }

  void fill(const std::vector<std::size_t>& jobs) {
    for (std::size_t j : jobs) insert(j);
  }

  std::vector<std::size_t> refused() const {
    std::vector<std::size_t> jobs;
    for (std::size_t j = 0; j < by_share_.size(); ++j) {
      if (!draft_.holds(j) && !by_share_[j].empty() && workshop_.problem.jobs[j].value > 0) jobs.push_back(j);
    }
    return jobs;
  }

  // Some jobs of a device go, to make room.
  void take_some(std::size_t device, std::vector<std::size_t>& taken) {
    const std::size_t count = 1 + below(kMostTaken);
    for (std::size_t i = 0; i < count && !draft_.lane(device).empty(); ++i) {
      const Lane& lane = draft_.lane(device);
      const auto out = draft_.take_out(lane[below(lane.size())].job);
      taken.insert(taken.end(), out.begin(), out.end());
    }
  }

  // One refused job gets room on one device; what had to go is put elsewhere, or back.
  void step(const std::vector<std::size_t>& waiting) {
    const std::size_t wanted = waiting[below(waiting.size())];
    const auto& possible = by_share_[wanted];
    const std::size_t device = possible[below(possible.size())];
    std::vector<std::size_t> taken;
    take_some(device, taken);
    if (uniform() < 0.3) take_some(below(workshop_.device_count()), taken);
    insert(wanted, device);
    for (std::size_t j : by_rating(taken, 0.5)) insert(j);
    for (std::size_t i = 0; i < kOthersTried; ++i) insert(waiting[below(waiting.size())], device);
  }

  double average_value() const {
    double sum = 0;
    for (const ScheduleJob& j : workshop_.problem.jobs) sum += j.value;
    return sum / static_cast<double>(std::max<std::size_t>(1, workshop_.job_count()));
  }

  // Steps that lose a little are taken too, ever less of them, and the best plan seen is kept.
  void improve() {
    PlanDraft best = draft_;
    double best_value = draft_.value(), value = best_value;
    double best_share = draft_.share(), share = best_share;
    const double average = average_value();
    const std::size_t first = draft_.work();
    for (std::size_t idle = 0; idle < 20000; ++idle) {
      const double spent = static_cast<double>(draft_.work() - first) / static_cast<double>(options_.work);
      const std::vector<std::size_t> waiting = refused();
      if (waiting.empty() || spent >= 1) break;
      const double loss = kMostLoss * average * (1 - spent) * (1 - spent) * uniform() * uniform();
      draft_.mark();
      step(waiting);
      const double new_value = draft_.value(), new_share = draft_.share();
      if (new_value < value - loss || (new_value == value && new_share > share * (1 + 0.01 * uniform()))) {
        draft_.go_back();
        continue;
      }
      value = new_value;
      share = new_share;
      if (value > best_value || (value == best_value && share < best_share)) {
        if (value > best_value) idle = 0;
        best = draft_;
        best_value = value;
        best_share = share;
      }
    }
    draft_ = best;
  }

  PlanDraft& draft_;
  const Workshop& workshop_;
  const HeuristicOptions& options_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::size_t>> by_share_;  // by job: devices, the smallest share first
  std::vector<double> ratings_;
};

}  // namespace

void plan_by_heuristic(PlanDraft& draft, const HeuristicOptions& options) { Search(draft, options).run(); }

}  // namespace ampere

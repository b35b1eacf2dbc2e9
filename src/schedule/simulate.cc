#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "ampere/schedule.h"
#include "schedule/problem.h"
#include "schedule/supply.h"

namespace ampere {
namespace {

// One planned job with all that a draw needs, in the order of starts.
struct Step {
  std::size_t job, device;
  std::size_t factor;  // which common error it has
  double start_s, due_s;
  LogNormal energy_j, time_s;
};

struct Errors {
  double energy = 0, time = 0;
};

// The end of the window that the plan has it in.
double window_end(const ScheduleDevice& device, double start_s) {
  double end = kNever;
  for (const TimeWindow& w : device.available) {
    if (w.start_s <= start_s) end = w.end_s;
  }
  return end;
}

class Day {
 public:
  Day(const Problem& problem, const std::vector<PlannedJob>& plan, std::uint64_t seed,
      const ErrorModel& model)
      : problem_(problem), model_(model), random_(seed), end_s_(problem.jobs.size(), 0) {
    for (const ScheduleDevice& d : problem.devices) supplies_.emplace_back(d);
    std::map<std::pair<std::size_t, std::string>, std::size_t> factors;
    for (const PlannedJob& p : plan) {
      const ScheduleJob& job = problem.jobs[p.job];
      const std::string kind = job.kind.empty() ? "job " + job.name : "kind " + job.kind;
      const auto [factor, fresh] = factors.try_emplace({p.device, kind}, factors.size());
      if (fresh) factor_device_.push_back(p.device);
      const JobCost& cost = *job.costs[p.device];
      steps_.push_back({p.job, p.device, factor->second, p.start_s,
                        std::min(job.deadline_s, window_end(problem.devices[p.device], p.start_s)),
                        cost.energy_j, cost.time_s});
    }
    std::stable_sort(steps_.begin(), steps_.end(),
                     [](const Step& a, const Step& b) { return a.start_s < b.start_s; });
    factors_.resize(factor_device_.size());
    devices_.resize(supplies_.size());
    states_.resize(supplies_.size());
    failed_.resize(supplies_.size());
  }

  void run(Simulation& counts) {
    draw();
    for (std::size_t d = 0; d < states_.size(); ++d) {
      states_[d] = {0, supplies_[d].initial_j()};
      failed_[d] = false;
    }
    bool any = false;
    for (const Step& step : steps_) {
      if (run(step)) continue;
      counts.late[step.job] += 1;
      any = true;
    }
    for (std::size_t d = 0; d < failed_.size(); ++d) {
      if (!failed_[d]) continue;
      counts.battery_failed[d] += 1;
      any = true;
    }
    if (any) counts.any_failed += 1;
  }

 private:
  struct State {
    double time_s = 0, level_j = 0;
  };

  double normal() { return normal_(random_); }

  Errors errors() {
    const double energy = normal();
    const double c = model_.time_energy;
    return {energy, c * energy + std::sqrt(1 - c * c) * normal()};
  }

  void draw() {
    const double common = std::sqrt(model_.between_kinds), own = std::sqrt(1 - model_.between_kinds);
    for (Errors& e : devices_) e = errors();
    for (std::size_t f = 0; f < factors_.size(); ++f) {
      const Errors mine = errors();
      const Errors& all = devices_[factor_device_[f]];
      factors_[f] = {common * all.energy + own * mine.energy, common * all.time + own * mine.time};
    }
  }

  // True when it ended in time.
  bool run(const Step& step) {
    const Supply& supply = supplies_[step.device];
    State& state = states_[step.device];
    double start = std::max(step.start_s, state.time_s);
    for (std::size_t other : problem_.jobs[step.job].depends_on) start = std::max(start, end_s_[other]);
    const Errors& e = factors_[step.factor];
    const double seconds = step.time_s.median * std::exp(step.time_s.sigma * e.time);
    const double joules = step.energy_j.median * std::exp(step.energy_j.sigma * e.energy);
    const double end = start + seconds;
    if (supply.has_battery()) {
      const Supply::Level before = supply.advance(state.level_j, state.time_s, start, 0);
      const Supply::Level after = supply.advance(before.level_j, start, end, joules / seconds);
      const double lowest = std::min(before.lowest_j, after.lowest_j);
      if (lowest < supply.reserve_j() - kRounding * (1 + supply.initial_j())) failed_[step.device] = true;
      state.level_j = after.level_j;
    }
    state.time_s = end;
    end_s_[step.job] = end;
    return end <= step.due_s + kRounding * (1 + end);
  }

  const Problem& problem_;
  const ErrorModel& model_;
  std::mt19937_64 random_;
  std::normal_distribution<> normal_;
  std::vector<Supply> supplies_;
  std::vector<Step> steps_;
  std::vector<std::size_t> factor_device_;  // by factor
  std::vector<Errors> factors_, devices_;
  std::vector<State> states_;
  std::vector<char> failed_;
  std::vector<double> end_s_;  // by job
};

}  // namespace

double Simulation::worst_battery() const {
  return battery_failed.empty() ? 0 : *std::max_element(battery_failed.begin(), battery_failed.end());
}

double Simulation::worst_late() const {
  return late.empty() ? 0 : *std::max_element(late.begin(), late.end());
}

Simulation simulate(const Problem& problem, const std::vector<PlannedJob>& plan, std::size_t draws,
                    std::uint64_t seed, const ErrorModel& model) {
  Simulation counts{draws, std::vector<double>(problem.devices.size(), 0),
                    std::vector<double>(problem.jobs.size(), 0), 0};
  if (draws == 0) return counts;
  Day day(problem, plan, seed, model);
  for (std::size_t i = 0; i < draws; ++i) day.run(counts);
  for (double& share : counts.battery_failed) share /= static_cast<double>(draws);
  for (double& share : counts.late) share /= static_cast<double>(draws);
  counts.any_failed /= static_cast<double>(draws);
  return counts;
}

}  // namespace ampere

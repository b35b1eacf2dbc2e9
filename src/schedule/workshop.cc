#include "schedule/workshop.h"

#include <algorithm>

namespace ampere {
namespace {

Demand demand_of(const std::optional<JobCost>& cost, double risk) {
  Demand d;
  if (!cost) return d;
  d.possible = true;
  d.energy_j = cost->energy_j.quantile(1 - risk);
  d.slot_s = cost->time_s.quantile(1 - risk);
  d.run_s = std::min(cost->time_s.median, d.slot_s);
  return d;
}

// When the last thing that can matter has happened: deadlines, or the end of availability.
double horizon_of(const Problem& problem) {
  double horizon = 0;
  for (const ScheduleJob& j : problem.jobs) {
    if (j.deadline_s < kNever) horizon = std::max(horizon, j.deadline_s);
  }
  for (const ScheduleDevice& d : problem.devices) {
    for (const TimeWindow& w : d.available) {
      if (w.end_s < kNever) horizon = std::max(horizon, w.end_s);
    }
  }
  return horizon > 0 ? horizon : 86400;
}

double time_available(const ScheduleDevice& device, double horizon_s) {
  double sum = 0;
  for (const TimeWindow& w : device.available) sum += std::max(0.0, std::min(w.end_s, horizon_s) - w.start_s);
  return sum;
}

}  // namespace

Workshop::Workshop(const Problem& given, const std::vector<double>& risk)
    : problem(given), dependents(given.jobs.size()), order(dependency_order(given)) {
  for (const ScheduleDevice& d : problem.devices) supplies.emplace_back(d);
  const double horizon = horizon_of(problem);
  std::vector<double> time_s, energy_j;
  for (std::size_t d = 0; d < supplies.size(); ++d) {
    time_s.push_back(std::max(1e-9, time_available(problem.devices[d], horizon)));
    energy_j.push_back(std::max(1e-9, supplies[d].usable_j(horizon)));
  }
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    for (std::size_t other : problem.jobs[j].depends_on) dependents[other].push_back(j);
    for (std::size_t d = 0; d < supplies.size(); ++d) {
      demands.push_back(demand_of(problem.jobs[j].costs[d], risk[d]));
      const Demand& demand = demands.back();
      shares.push_back(std::max(demand.slot_s / time_s[d], demand.energy_j / energy_j[d]));
    }
  }
}

}  // namespace ampere

#include "schedule/problem.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"

namespace ampere {
namespace {

void require(bool holds, const std::string& where, const std::string& what) {
  if (!holds) throw bad_input(where + ": " + what);
}

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

void require_energy(double joules, const std::string& where, const std::string& what) {
  require(joules <= kMostJobJoules, where, what + " must be at most 1e15 J (278 GWh)");
}
void require_power(double watts, const std::string& where, const std::string& what) {
  require(watts <= kMostJobWatts, where, what + " must be at most 1e6 kW");
}
// A moment, or never.
void require_time(double seconds, const std::string& where, const std::string& what) {
  require(seconds <= kMostJobSeconds || seconds == kNever, where,
          what + " must be at most 36500d (100 years)");
}

void check_windows(const std::vector<TimeWindow>& windows, const std::string& where) {
  double last = 0;
  for (const TimeWindow& w : windows) {
    require(is_amount(w.start_s) && w.end_s > w.start_s, where, "a window must end after it starts");
    require_time(w.start_s, where, "the start of a window");
    require_time(w.end_s, where, "the end of a window");
    require(w.start_s >= last, where, "windows must be in order and must not overlap");
    last = w.end_s;
  }
}

void check_device(const ScheduleDevice& d) {
  const std::string where = "device \"" + d.name + "\"";
  if (d.battery) {
    const Battery& b = *d.battery;
    require(std::isfinite(b.capacity_j) && b.capacity_j > 0, where,
            "the battery's capacity must be positive");
    require_energy(b.capacity_j, where, "the battery's capacity");
    require(is_amount(b.charge_j) && b.charge_j <= b.capacity_j, where,
            "the battery's charge must lie between 0 and its capacity");
    require(is_amount(b.reserve_j) && b.reserve_j <= b.capacity_j, where,
            "the battery's reserve must lie between 0 and its capacity");
  }
  if (d.charger) {
    require(is_amount(d.charger->power_w), where, "the charger's power must not be negative");
    require_power(d.charger->power_w, where, "the charger's power");
    check_windows(d.charger->plugged, where + ": charger");
  }
  require(is_amount(d.background_w), where, "the background power must not be negative");
  require_power(d.background_w, where, "the background power");
  require(!d.available.empty(), where, "is never available");
  check_windows(d.available, where + ": available");
}

void check_cost(const LogNormal& cost, const std::string& where) {
  require(is_amount(cost.median) && is_amount(cost.sigma), where,
          "must have an energy and a time that are finite and not negative");
  require(cost.sigma < 3, where, "is known to within a factor of 400 at best, which no plan can use");
}

void check_job(const ScheduleJob& j, const Problem& problem) {
  const std::string where = "job \"" + j.name + "\"";
  require(is_amount(j.value), where, "the value must be finite and not negative");
  require(j.value <= kMostValue, where, "the value must be at most 1e9");
  require(is_amount(j.earliest_s), where, "the earliest start must not lie in the past");
  require_time(j.earliest_s, where, "the earliest start");
  require_time(j.deadline_s, where, "the deadline");
  require(j.deadline_s > j.earliest_s, where, "the deadline must lie after the earliest start");
  require(j.costs.size() == problem.devices.size(), where, "needs one cost per device");
  for (std::size_t d = 0; d < j.costs.size(); ++d) {
    const auto& cost = j.costs[d];
    if (!cost) continue;
    check_cost(cost->energy_j, where);
    check_cost(cost->time_s, where);
    const std::string on = " on device \"" + problem.devices[d].name + "\"";
    require_energy(cost->energy_j.mean(), where, "the energy" + on);
    require(cost->time_s.median > 0, where, "must take some time");
    require(cost->time_s.median >= kLeastJobSeconds, where, "the time" + on + " must be at least 1e-3 ms");
    require_time(cost->time_s.mean(), where, "the time" + on);
  }
  for (std::size_t other : j.depends_on)
    require(other < problem.jobs.size(), where, "depends on a job that is not there");
}

template <class Named>
void check_names(const std::vector<Named>& all, const std::string& what) {
  std::set<std::string> seen;
  for (const Named& one : all) {
    if (one.name.empty()) throw bad_input("a " + what + " has no name");
    if (!seen.insert(one.name).second) throw bad_input(what + " \"" + one.name + "\" is there twice");
  }
}

// Follows unfinished dependencies until a job comes again.
std::string circle_from(const Problem& problem, const std::vector<bool>& placed, std::size_t job) {
  std::vector<std::size_t> path;
  while (std::find(path.begin(), path.end(), job) == path.end()) {
    path.push_back(job);
    for (std::size_t other : problem.jobs[job].depends_on) {
      if (!placed[other]) {
        job = other;
        break;
      }
    }
  }
  std::string text;
  for (auto i = std::find(path.begin(), path.end(), job); i != path.end(); ++i) {
    if (i - path.begin() > 20) return text + "...";
    text += "\"" + problem.jobs[*i].name + "\" needs ";
  }
  return text + "\"" + problem.jobs[job].name + "\"";
}

}  // namespace

std::vector<std::size_t> dependency_order(const Problem& problem) {
  const std::size_t n = problem.jobs.size();
  std::vector<std::size_t> open(n), order;
  std::vector<std::vector<std::size_t>> dependents(n);
  std::vector<bool> placed(n, false);
  for (std::size_t j = 0; j < n; ++j) {
    open[j] = problem.jobs[j].depends_on.size();
    for (std::size_t other : problem.jobs[j].depends_on) dependents[other].push_back(j);
  }
  std::set<std::size_t> ready;
  for (std::size_t j = 0; j < n; ++j) {
    if (open[j] == 0) ready.insert(j);
  }
  while (!ready.empty()) {
    const std::size_t j = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(j);
    placed[j] = true;
    for (std::size_t k : dependents[j]) {
      if (--open[k] == 0) ready.insert(k);
    }
  }
  if (order.size() == n) return order;
  const auto stuck =
      static_cast<std::size_t>(std::find(placed.begin(), placed.end(), false) - placed.begin());
  throw bad_input("jobs depend on each other in a circle: " + circle_from(problem, placed, stuck));
}

void check(const Problem& problem) {
  if (problem.devices.empty()) throw bad_input("there is no device to run jobs on");
  check_names(problem.devices, "device");
  check_names(problem.jobs, "job");
  for (const ScheduleDevice& d : problem.devices) check_device(d);
  for (const ScheduleJob& j : problem.jobs) check_job(j, problem);
  dependency_order(problem);
}

}  // namespace ampere

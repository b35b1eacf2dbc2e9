// What is to be scheduled: training jobs with what they cost on each device, and devices with what they have.
// All times count from now, the moment the schedule begins.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "schedule/log_normal.h"

namespace ampere {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// The largest figures that a problem may have: solvers lose digits with larger ones, and some abort.
inline constexpr double kMostValue = 1e9;
inline constexpr double kMostJoules = 1e15;             // 278 GWh
inline constexpr double kMostSeconds = 36500 * 86400.;  // 100 years; "never" is kNever
inline constexpr double kMostWatts = 1e9;
// The shortest job.
inline constexpr double kLeastSeconds = 1e-6;

struct TimeWindow {
  double start_s = 0;
  double end_s = kNever;
};

struct Battery {
  double capacity_j = 0;
  double charge_j = 0;   // now
  double reserve_j = 0;  // must never fall below this
};

struct Charger {
  double power_w = 0;
  std::vector<TimeWindow> plugged;  // in order, apart; empty: never
};

struct ScheduleDevice {
  std::string name;
  std::optional<Battery> battery;  // absent: it hangs on the mains
  std::optional<Charger> charger;
  double background_w = 0;                   // drawn all the time by whatever else the device does
  std::vector<TimeWindow> available = {{}};  // in order, apart; a job runs within one of them
};

struct JobCost {
  LogNormal energy_j;
  LogNormal time_s;
};

struct ScheduleJob {
  std::string name;
  // Jobs of one kind err together on a device, all too high or all too low: the same family of networks at
  // the same batch. Empty: a kind of its own.
  std::string kind;
  double value = 1;
  double earliest_s = 0;
  double deadline_s = kNever;
  std::vector<std::size_t> depends_on;        // jobs that must have ended before it starts
  std::vector<std::optional<JobCost>> costs;  // by device; absent: cannot run there, or nobody knows
  std::vector<std::string> why_not;           // by device, for absent costs: one clause ("not profiled")
};

struct Problem {
  std::vector<ScheduleDevice> devices;
  std::vector<ScheduleJob> jobs;
};

// Throws Error{kBadInput}: figures that are negative, too large or unordered, names that are empty or occur
// twice, dependencies in a circle, costs of the wrong number.
void check(const Problem& problem);

// Jobs so that each comes behind those it depends on; otherwise in the order given. Throws Error{kBadInput}
// that names a circle.
std::vector<std::size_t> dependency_order(const Problem& problem);

}  // namespace ampere

// What a worker answers: the cost of one iteration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "meter/meter.h"

namespace ampere {

// What one iteration of a network cost. Unmeasured is absent, never zero.
struct Measurement {
  std::optional<double> energy_j;  // per iteration
  double time_s = 0;               // per iteration
  double energy_error = 0;         // relative standard error
  double time_error = 0;
  std::optional<double> host_s;  // time the host takes to issue one iteration
  int windows = 0;
  int outliers = 0;
  std::int64_t iterations = 0;  // trained in all windows
  bool stable = false;          // the target error was met
  bool modelled = false;        // the energy comes from a model, not from a counter
  // Share of the windows' time that went into reading the meter, and how far its power reading, integrated,
  // is off its counter: (integrated - counted) / counted. Absent where it cannot be told.
  std::optional<double> metering_overhead;
  std::optional<double> discrepancy;
  // How much longer iterations took at the end of the windows than at their beginning.
  double drift = 0;
  // The device was slowed down by its own heat meanwhile, and waiting did not help: not what a cold one
  // costs.
  bool throttled = false;
  std::string meter;
  std::string mode;                  // "eager" or "replay": what was really done
  std::string note;                  // anything a reader should know ("capture failed: ...")
  std::vector<std::string> kernels;  // that a replay ran, each once; empty where that cannot be told
  DeviceState before, after;         // of what is metered, around the windows
};

Json to_json(const Measurement& measurement);
// Refuses what cannot be true: throws Error{kBadInput} for figures outside of the bounds below.
Measurement measurement_from_json(const Json& json);

// What one iteration of anything can cost, with room to spare: the quickest kernel takes microseconds, a
// nanosecond is one step of a clock; the largest machine there is draws some 30 MW and holds its training
// steps in minutes. Figures outside are mistakes, and one of them in a store would spoil all that is fitted.
inline constexpr double kLeastSeconds = 1e-10, kMostSeconds = 1e6;
inline constexpr double kLeastJoules = 1e-12, kMostJoules = 1e12;
inline constexpr double kMostWatts = 1e8;

// Throws Error{kBadInput} that begins with `where` and names the figure, unless all are within the bounds.
void require_plausible(const std::optional<double>& energy_j, double time_s,
                       const std::optional<double>& host_s, const std::string& where);

}  // namespace ampere

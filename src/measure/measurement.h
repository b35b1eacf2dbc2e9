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
  std::string meter;
  std::string mode;                  // "eager" or "replay": what was really done
  std::string note;                  // anything a reader should know ("capture failed: ...")
  std::vector<std::string> kernels;  // that a replay ran, each once; empty where that cannot be told
  DeviceState before, after;         // of what is metered, around the windows
};

Json to_json(const Measurement& measurement);
// Refuses what cannot be true: negative or non-finite figures.
Measurement measurement_from_json(const Json& json);

}  // namespace ampere

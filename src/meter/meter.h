// The one seam to whatever tells energy: a cumulative counter in joules, with the time it was read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace ampere {

// What one read of a meter gives. Both values only grow while the meter works.
struct Reading {
  Joules energy;  // since some arbitrary moment
  Seconds at;     // monotonic clock, the moment the energy was asked for
};

// What was drawn about a moment.
struct PowerSample {
  Seconds at;  // monotonic clock
  Watts power;
};

// What is known of a meter before it is used.
struct MeterInfo {
  std::string name;         // "nvml", "rapl", "cpu-model": what --meter takes
  std::string scope;        // "gpu", "package", "module", "board", "battery", "process"
  bool modelled = false;    // true: computed from a model, not read from hardware
  std::string description;  // one line for people: what is read, and from where
};

// What the device said of itself at one moment; what it does not say is absent. For several devices:
// the hottest, the slowest clock, limits added, reasons joined.
struct DeviceState {
  std::optional<double> temperature_c;
  std::optional<double> clock_mhz;
  std::optional<Watts> power_limit;
  std::vector<std::string>
      throttle;  // why it runs slower than it could ("power cap", "thermal"); empty: it does not
};

class Meter {
 public:
  virtual ~Meter() = default;
  virtual const MeterInfo& info() const = 0;
  // Throws Error{kNoMeter} when the counter can no longer be read.
  virtual Reading read() = 0;
  // A second opinion: the power drawn about now, from another sensor than the energy counter.
  virtual std::optional<Watts> power() { return std::nullopt; }
  // The power of the last seconds, oldest first, as the device itself has kept it: read after the work, it
  // costs nothing within. Empty: it keeps none.
  virtual std::vector<PowerSample> samples() { return {}; }
  // Temperature, clocks and limits of what is metered. May be slow: never called inside a window.
  virtual DeviceState state() { return {}; }
};

// Seconds on the monotonic clock that readings are stamped with.
Seconds now();

// Where time comes from: now(), or a simulated clock in tests and replays.
using Clock = std::function<Seconds()>;

// Throws Error{kNoMeter}: "NAME: WHY".
[[noreturn]] void no_meter(const std::string& name, const std::string& why);

}  // namespace ampere

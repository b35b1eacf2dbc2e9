// Measuring repeated work with a meter: warm-up, windows without reads inside, repeats until settled.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "meter/characterise.h"
#include "meter/meter.h"

namespace ampere {

// Work that can be repeated: runs `iterations` steps and returns when they have finished on the
// device (it synchronises before it returns).
using Work = std::function<void(std::int64_t iterations)>;

// Of a slow counter.
inline constexpr int kTicksPerWindow = 10;
inline constexpr double kEdgeKnownInTicks = 0.02;  // counters are late or early by some

struct WindowOptions {
  Seconds warm_up{0.1};        // trained before the first window; its readings are thrown away
  Seconds window{0.1};         // length of one window; stretched to min_ticks of the meter's counter
  double target_error = 0.01;  // relative standard error of the median at which to stop
  int min_windows = 3;
  int max_windows = 50;
  // The least ticks of a slow counter that a window spans. Fewer than ten make a quick look: such a window
  // is not stretched until reading the meter hardly counts either. Two or one: the power that the device
  // itself keeps tells more in less time, where it keeps any (sampled_window.h).
  int min_ticks = kTicksPerWindow;
  Seconds budget{3.0};        // ends the windows, warm-up included; at least min_windows are run
  Seconds gap{0};             // worked between two windows, to spread them over a longer run
  bool discard_first = true;  // the window right after warm-up reads low: power ramps
  // What characterise() found, where it was called before; absent: it is called during warm-up, which for a
  // slow counter takes a dozen ticks.
  std::optional<MeterCharacter> character;
  Watts idle{0};      // drawn while the device waits for a read; taken off where a window contains one
  Clock clock = now;  // what readings are stamped with
};

// One stretch of work between two moments at which the counter is known exactly.
struct Window {
  Joules energy;
  Seconds time;
  double iterations = 0;  // not whole where the window ends on a tick inside an iteration
  Seconds reading;        // spent inside the window on reading the meter; already taken off time
  std::optional<double>
      discrepancy;  // (integrated power - energy) / energy, where the meter has a second opinion
};

// Everything is per iteration: medians over the windows.
struct WindowSummary {
  Joules energy;
  Seconds time;
  double energy_error = 0;  // relative standard error of the median
  double time_error = 0;
  int outliers = 0;                   // windows further than 5 scaled median deviations from the median
  bool stable = false;                // the target error was met within the budget
  bool sampled = false;               // by the power that the device keeps, not by its counter
  std::string ended;                  // why no more windows were run: "settled", "budget", "max windows"
  Seconds tick;                       // of the counter, 0 when it has none
  double overhead = 0;                // share of the windows' time that went into reading the meter
  std::optional<double> discrepancy;  // median over the windows
  // How much longer iterations took in the last third of the windows than in the first; 0 for fewer than six.
  double drift = 0;
  DeviceState before;  // after warm-up; before it where samples tell
  DeviceState after;
  std::vector<Window> windows;
};

// Throws Error{kNoMeter} when the meter stands still over a whole measurement (reading zero is never
// a measurement), runs backwards or cannot be read any more; Error{kBadInput} for impossible options.
WindowSummary measure_windows(Meter& meter, const Work& work, const WindowOptions& options);

}  // namespace ampere

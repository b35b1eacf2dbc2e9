// How long repeated work takes, by the clock alone: far quicker than asking a counter of energy.
#pragma once

#include "meter/window.h"

namespace ampere {

struct TimingOptions {
  Seconds window{0.005};       // length of one window; at least one iteration
  double target_error = 0.01;  // relative standard error of the median at which to stop
  int min_windows = 5;
  int max_windows = 200;
  Seconds budget{0.05};  // ends the windows; at least min_windows are run
  Clock clock = now;
};

struct Timing {
  Seconds time;  // of one iteration: median over the windows
  double error = 0;
  int windows = 0;
  int outliers = 0;
  std::int64_t iterations = 0;
  bool stable = false;  // the target error was met
};

// The work must have been warmed up. Throws Error{kBadInput} for impossible options.
Timing measure_time(const Work& work, const TimingOptions& options);

}  // namespace ampere

#include "meter/timing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"

namespace ampere {

constexpr double kClockKnown = 1e-5;  // seconds

Timing measure_time(const Work& work, const TimingOptions& options) {
  if (!(options.window.value() > 0) || options.min_windows < 1 || options.max_windows < options.min_windows ||
      !(options.target_error > 0)) {
    throw bad_input("timing: lengths, counts and the target error must be positive, and max >= min");
  }
  const Seconds start = options.clock();
  Timing timing;
  std::vector<double> times;
  std::int64_t iterations = 1;
  while (true) {
    const Seconds before = options.clock();
    work(iterations);
    const double taken = std::max((options.clock() - before).value(), 1e-9);
    const double each = taken / static_cast<double>(iterations);
    const double fitting = std::min(options.window.value() / each, 1e15);
    if (taken < options.window.value() / 2 && fitting > static_cast<double>(iterations)) {
      iterations = static_cast<std::int64_t>(std::ceil(fitting));  // too short to be a window
      continue;
    }
    times.push_back(each);
    timing.iterations += iterations;
    // A single window is as good as the clock at both its ends.
    timing.error = times.size() > 1 ? relative_error_of_median(times) : kClockKnown / taken;
    timing.windows = static_cast<int>(times.size());
    if (timing.windows < options.min_windows) continue;
    timing.stable = timing.error <= options.target_error;
    if (timing.stable || timing.windows >= options.max_windows || options.clock() - start >= options.budget)
      break;
  }
  timing.time = Seconds(median(times));
  timing.outliers = count_outliers(times);
  return timing;
}

}  // namespace ampere

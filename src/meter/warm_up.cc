#include "meter/warm_up.h"

#include <algorithm>

namespace ampere {

Seconds warm_up(const Work& work, const Clock& clock, Seconds length) {
  const Seconds start = clock();
  std::int64_t iterations = 1;
  while (true) {
    const Seconds before = clock();
    work(iterations);
    const Seconds after = clock();
    const Seconds each = (after - before) / static_cast<double>(iterations);
    if (after - start >= length) return std::max(each, kShortestIteration);
    // Doubling finds the pace of short iterations without reading the clock each time; a tenth of the
    // warm-up at most, so that it does not overshoot.
    const double fitting = length / 10 / std::max(each, kShortestIteration);
    iterations = std::clamp<std::int64_t>(static_cast<std::int64_t>(fitting), 1, iterations * 2);
  }
}

}  // namespace ampere

#include "session/heat.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace ampere {
namespace {

// Iterations of a device that keeps its clock grow no longer by this much within seconds, unless something
// else runs there; then they scatter, too.
constexpr double kMostDrift = 0.05, kDriftInErrors = 5;
constexpr double kLeastClock = 0.93;  // of the clock before

bool says_thermal(const DeviceState& state) {
  return std::any_of(state.throttle.begin(), state.throttle.end(),
                     [](const std::string& why) { return why.find("thermal") != std::string::npos; });
}

bool told_by_device(const Measurement& m) {
  if (says_thermal(m.before) || says_thermal(m.after)) return true;
  const bool warmer =
      m.before.temperature_c && m.after.temperature_c && *m.after.temperature_c > *m.before.temperature_c;
  return warmer && m.before.clock_mhz && m.after.clock_mhz &&
         *m.after.clock_mhz < kLeastClock * *m.before.clock_mhz;
}

bool silent(const Measurement& m) {
  return !m.before.temperature_c && !m.before.clock_mhz && m.before.throttle.empty();
}

}  // namespace

bool slowed_by_heat(const Measurement& m) {
  if (told_by_device(m)) return true;
  return silent(m) && m.drift > kMostDrift && m.drift > kDriftInErrors * m.time_error;
}

Measure when_cool(Measure measure, Rest rest, CoolingOptions options) {
  return [measure = std::move(measure), rest = std::move(rest), options](const MeasureRequest& request) {
    Measurement m = measure(request);
    double waited = 0;
    for (int i = 0; i < options.waits && told_by_device(m); ++i) {
      const double seconds = options.first_wait_s * std::pow(2.0, i);
      rest(seconds);
      waited += seconds;
      m = measure(request);
    }
    m.throttled = slowed_by_heat(m);
    const std::string after = "after " + std::to_string(std::lround(waited)) + " s of rest";
    if (m.throttled)
      m.note += (m.note.empty() ? "" : "; ") + std::string("slowed down by heat") +
                (waited > 0 ? ", also " + after : "");
    else if (waited > 0)
      m.note += (m.note.empty() ? "" : "; ") + ("measured " + after + ", slowed down by heat before");
    return m;
  };
}

}  // namespace ampere

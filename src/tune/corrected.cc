#include "tune/corrected.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "tune/limited.h"
#include "tune/search.h"

namespace ampere {
namespace {

constexpr double kLeastError = 0.01;  // of a moment's training as a picture of hours of it

bool as_it_comes(const TrainingSetting& s) { return s.power_limit_w == 0 && s.clock_mhz == 0; }

}  // namespace

Interval measured_interval(double value, double relative_error) {
  const double factor = std::exp(kZ95 * std::max(kLeastError, relative_error));
  return {value, value / factor, value * factor};
}

void correct(Tuned& tuned, const TrainedSetting& trained) {
  auto& outcomes = tuned.outcomes;
  const auto it = std::find_if(outcomes.begin(), outcomes.end(),
                               [&](const TuneOutcome& o) { return o.setting == trained.setting; });
  if (it == outcomes.end())
    throw bad_input(setting_text(trained.setting) + " is none of the settings that are looked at");
  const double energy = trained.energy_j / it->energy_j.value, time = trained.time_s / it->time_s.value;
  const bool level_known = std::any_of(outcomes.begin(), outcomes.end(), [&](const TuneOutcome& o) {
    return o.measured && as_it_comes(o.setting) && same_training(o.setting, trained.setting);
  });
  const auto correct_device = [&](TuneOutcome& o) {
    o.device_energy_j *= energy;
    o.device_time_s *= time;
  };
  for (TuneOutcome& o : outcomes) {
    if (&o == &*it) {
      correct_device(o);
      o.energy_j = measured_interval(trained.energy_j, trained.energy_error);
      o.time_s = measured_interval(trained.time_s, trained.time_error);
      o.measured = true;
    } else if (!level_known && !o.measured && same_training(o.setting, trained.setting)) {
      correct_device(o);
      o.energy_j =
          stretched(measured_interval(o.energy_j.value * energy, trained.energy_error), 1, o.power_deviation);
      o.time_s =
          stretched(measured_interval(o.time_s.value * time, trained.time_error), 1, o.power_deviation);
    }
  }
}

}  // namespace ampere

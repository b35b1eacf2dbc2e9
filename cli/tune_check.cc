#include "tune_check.h"

#include <fmt/core.h>

#include <algorithm>

#include "control/guardian.h"
#include "control/settings.h"
#include "measure/measure.h"
#include "measure/recipe.h"
#include "progress.h"
#include "text.h"
#include "tune/corrected.h"
#include "tune/search.h"

namespace ampere {
TuneChecker::TuneChecker(const CommonOptions& common, const TuneOptions& options, double seconds,
                         int most_checks)
    : common_(common),
      options_(options),
      seconds_(seconds),
      left_(most_checks),
      session_(open_session(common)) {}

StoredDevice TuneChecker::device(const Store& store) const {
  for (const StoredDevice& known : store.devices()) {
    if (known.id == session_.device_id) return known;
  }
  StoredDevice here;
  here.id = session_.device_id;
  here.fingerprint = session_.fingerprint;
  return here;
}

std::optional<Measurement> TuneChecker::measured(const Network& network, const TrainingSetting& setting,
                                                 std::string& note, bool& as_asked) {
  if (left_ <= 0) return std::nullopt;
  --left_;
  MeasureRequest request;
  request.network = network;
  request.batch = setting.batch;
  request.recipe = setting.recipe;
  request.meter = common_.meter;
  request.mode = options_.mode;
  request.budget_s = seconds_;
  // What is set must be put back before anything else is trained.
  std::unique_ptr<Guardian> guardian;
  AppliedSettings applied;
  as_asked = true;
  if (setting.power_limit_w > 0 || setting.clock_mhz > 0) {
    WantedSettings wanted;
    if (setting.power_limit_w > 0) wanted.power_limit_w = setting.power_limit_w;
    if (setting.clock_mhz > 0) wanted.clock_mhz = setting.clock_mhz;
    try {
      guardian = std::make_unique<Guardian>();
      applied = apply_settings(wanted, [&](const Undo& undo) { guardian->promise(undo); });
    } catch (const Error& e) {
      as_asked = false;
      note = fmt::format("trained as the device comes, since the setting cannot be made: {}", e.what());
      guardian.reset();
    }
  }
  const Countdown bar("training", seconds_, common_.quiet || common_.json);  // a thread: behind the guardian
  const Measurement m = session_.measure()(request);
  if (guardian) {
    for (const std::string& failure : guardian->end()) warn("could not be put back: " + failure);
  }
  return m.energy_j ? std::optional(m) : std::nullopt;
}

std::optional<Estimate> TuneChecker::train(const Network& network, std::int64_t batch, const Recipe& recipe) {
  std::string note;
  bool as_asked = true;
  const std::optional<Measurement> m = measured(network, {batch, recipe}, note, as_asked);
  if (!m) return std::nullopt;
  Estimate e;
  e.method = "measured";
  e.energy_j = measured_interval(*m->energy_j, m->energy_error);
  e.time_s = measured_interval(m->time_s, m->time_error);
  e.device_energy_j = *m->energy_j;
  e.device_time_s = m->time_s;
  e.modelled = m->modelled;
  e.regime = session_.fingerprint.value("type", "") == "cuda" ? Regime::kDevice : Regime::kSingle;
  return e;
}

std::vector<TuneCheckResult> TuneChecker::check(
    Tuned& tuned, const std::function<const Network&(std::int64_t batch)>& network) {
  std::vector<TuneCheckResult> results;
  std::vector<std::size_t> trained;
  std::size_t next = tuned.present;
  while (left_ > 0 && std::find(trained.begin(), trained.end(), next) == trained.end()) {
    trained.push_back(next);
    const TuneOutcome before = tuned.outcomes[next];
    TuneCheckResult result;
    result.setting = before.setting;
    bool as_asked = true;
    const std::optional<Measurement> m =
        measured(network(before.setting.batch), before.setting, result.note, as_asked);
    if (!m) break;
    TrainingSetting as_trained = before.setting;
    if (!as_asked) as_trained.power_limit_w = as_trained.clock_mhz = 0;
    const auto estimated = std::find_if(tuned.outcomes.begin(), tuned.outcomes.end(),
                                        [&](const TuneOutcome& o) { return o.setting == as_trained; });
    const double iterations = iterations_of(options_.samples, before.setting.batch, options_.epochs);
    result.setting = as_trained;
    result.energy_j = *m->energy_j * iterations;
    result.time_s = m->time_s * iterations;
    result.estimated_energy_j = estimated->energy_j.value;
    result.estimated_time_s = estimated->time_s.value;
    results.push_back(result);
    correct(tuned, {as_trained, result.energy_j, result.time_s, m->energy_error, m->time_error});
    choose(tuned, options_);
    next = tuned.best;
    // What cannot be set was trained as it comes: there is nothing more to learn about it.
    if (!as_asked && same_training(tuned.outcomes[next].setting, as_trained)) break;
  }
  return results;
}

}  // namespace ampere

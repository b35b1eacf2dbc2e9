#include <cmath>
#include <set>

#include "base/capped.h"
#include "base/error.h"
#include "base/statistics.h"
#include "estimate/estimate.h"
#include "model/composition.h"

namespace ampere {
namespace {

// Parts of a captured step are measured as they run in the network: same sizes, strides, types, and as much
// in the cache. What is left of adding up is this (standard deviation). On an accelerator it is that of 81
// replayed steps (results/h200/python.md, third to eighth run), of which it holds 95%; processors were not
// studied as much.
constexpr double kCapturedSpread = 0.0225;
constexpr double kCapturedSpreadOnProcessor = 0.03;

// What was learned from whole networks; where there were none, what is believed of such layers.
CompositionError composition_for(const DeviceProfile& profile, const Method& method,
                                 const std::vector<Layer>& layers, const std::string& family, Regime regime,
                                 Part part) {
  CompositionError error = composition_of(profile, method.name, family, part);
  const bool captured = !layers.empty() && is_captured(layers.front().kind);
  if (captured && error.networks == 0)
    error.deviation = regime == Regime::kSingle ? kCapturedSpreadOnProcessor : kCapturedSpread;
  return error;
}

// The surfaces' own uncertainty and that of adding up are independent.
Interval with_composition(const Interval& interval, const CompositionError& error) {
  if (!(interval.value > 0)) return interval;
  const double own = interval.low > 0 ? std::log(interval.high / interval.value) / kZ95 : 1;
  const double deviation = std::sqrt(own * own + error.deviation * error.deviation);
  const double value = interval.value * std::exp(error.log_bias);
  return {value, value * std::exp(-kZ95 * deviation), value * std::exp(kZ95 * deviation)};
}

// An estimate that is no number helps nobody, and must not be told as if it were one.
void require_finite(const DeviceProfile& profile, const Estimate& e) {
  for (const Interval& i : {e.energy_j, e.time_s}) {
    if (std::isfinite(i.value) && std::isfinite(i.low) && std::isfinite(i.high)) continue;
    throw Error(ErrorKind::kFailed, profile.store().path() + ": what is kept of device " + profile.device() +
                                        " gives an estimate that is no number; see: ampere store check");
  }
}

constexpr std::size_t kMostKnown = 200;

[[noreturn]] void throw_missing(const DeviceProfile& profile, const std::vector<std::string>& keys) {
  std::string list;
  for (const std::string& key : keys) list += "\n  " + key;
  // Another optimizer, precision or number of threads may be why.
  std::set<std::string> recipes;
  for (const SurfaceCount& s : profile.surfaces()) recipes.insert(s.recipe);
  if (!recipes.empty() && recipes.count(profile.recipe()) == 0) {
    std::string known;
    for (const std::string& recipe : recipes) known += (known.empty() ? "" : ", ") + recipe;
    list += "\nasked for as " + profile.recipe() + ", measured there as " + capped(known, kMostKnown);
  }
  throw Error(ErrorKind::kNotProfiled, "these kinds of layers were not profiled on this device yet:" + list);
}

}  // namespace

Estimate estimate_network(const DeviceProfile& profile, const Method& method, const Network& network,
                          std::int64_t batch, MeasureMode mode, Probes probes) {
  require_mode(method, mode);
  const std::vector<Layer> layers = parse_layers(network, batch);
  const LayerModels models = models_for(profile, method, layers, probes);
  const std::vector<std::string> missing = missing_surfaces(models, method, layers);
  if (!missing.empty()) throw_missing(profile, missing);
  const std::string family = family_of(network, batch);
  Estimate e = method.estimate(models, layers, family, mode);
  e.method = method.name;
  require_finite(profile, e);
  if (!method.learns_composition) return e;
  CompositionError energy = composition_for(profile, method, layers, family, e.regime, Part::kEnergy);
  CompositionError time = composition_for(profile, method, layers, family, e.regime, Part::kTime);
  if (mode == MeasureMode::kReplay && e.regime != Regime::kSingle) {
    // Its parts carry their factors already; what is left of them is their spread.
    energy = composition_for(profile, method, layers, family, e.regime, Part::kDeviceEnergy);
    time = composition_for(profile, method, layers, family, e.regime, Part::kDeviceTime);
    energy.log_bias = time.log_bias = 0;
  }
  e.energy_j = with_composition(e.energy_j, energy);
  if (e.gain) e.gain->energy_j = with_composition(e.gain->energy_j, energy);
  e.time_s = with_composition(e.time_s, time);
  e.composition_factor = std::exp(energy.log_bias);
  e.composition_networks = energy.networks;
  // The factor goes to all parts alike, so that layers still add up to the whole.
  const double time_factor = std::exp(time.log_bias);
  e.fixed_energy_j *= e.composition_factor;
  e.device_energy_j *= e.composition_factor;
  e.fixed_time_s *= time_factor;
  e.device_time_s *= time_factor;
  e.host_time_s *= time_factor;
  for (LayerEstimate& layer : e.layers) {
    layer.energy_j = layer.energy_j * e.composition_factor;
    layer.time_s = layer.time_s * time_factor;
  }
  require_finite(profile, e);
  return e;
}

double iterations_of(std::int64_t samples, std::int64_t batch, std::int64_t epochs) {
  if (samples < 1 || batch < 1 || epochs < 1)
    throw bad_input("samples, batch and epochs of a job must be at least 1");
  const std::int64_t per_epoch = samples / batch + (samples % batch != 0 ? 1 : 0);
  return static_cast<double>(per_epoch) * static_cast<double>(epochs);
}

}  // namespace ampere

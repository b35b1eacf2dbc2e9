#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/statistics.h"
#include "estimate/estimate.h"
#include "model/split.h"
#include "model/sum.h"

namespace ampere {
namespace {

// How far the idle power that is believed of a data sheet may be off: cards that were seen waiting draw 14%
// to 30% of their limit (results/zeus.md).
constexpr double kIdleUnseen = 0.35;

// Beyond the measured points in any direction, with a little room for rounding.
bool outside(const std::vector<StoredPoint>& points, Channels c) {
  std::int64_t in_low = INT64_MAX, in_high = 0, out_low = INT64_MAX, out_high = 0;
  for (const StoredPoint& p : points) {
    in_low = std::min(in_low, p.channels.in);
    in_high = std::max(in_high, p.channels.in);
    out_low = std::min(out_low, p.channels.out);
    out_high = std::max(out_high, p.channels.out);
  }
  return c.in < in_low || c.in > in_high || c.out < out_low || c.out > out_high;
}

void add_layers(Estimate& e, const LayerModels& models, const std::vector<Layer>& layers,
                const std::map<std::string, std::string>& surface_of, const LayerSum& energy,
                const LayerSum& time) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerEstimate l;
    l.name = layers[i].name;
    l.role = layers[i].role;
    l.kind = layers[i].kind.word();
    l.channels = layers[i].channels;
    l.energy_j = interval_of(energy.layer_mean[i], energy.layer_deviation[i]);
    l.time_s = interval_of(time.layer_mean[i], time.layer_deviation[i]);
    const std::string& key = surface_of.at(layers[i].key());
    l.measured = !models.told(key, l.channels);
    l.extrapolated =
        l.measured && outside(models.profile().points(key), l.channels) && !models.probed(key, l.channels);
    e.layers.push_back(std::move(l));
  }
}

// Of measuring one layer with its energy: starting it, and letting it run as often as that takes.
constexpr double kSecondsToMeasure = 0.6;
constexpr double kRunsToMeasure = 10;

// The same sums, as sure as they would be if every layer had been measured.
MeasuringGain gain_of(SplitParts parts, double idle_w, const Estimate& e) {
  MeasuringGain gain;
  gain.layers = parts.energies.unmeasured_places;
  const auto shrink = [](double& variance, const LayerSum& sum) {
    if (sum.variance > 0) variance *= sum.variance_if_measured / sum.variance;
  };
  shrink(parts.device_s_variance, parts.times);
  shrink(parts.device_j_variance, parts.energies);
  const Composed whole = compose(parts, idle_w);
  gain.energy_j = interval_of(whole.energy_j, std::sqrt(whole.energy_j_variance));
  std::set<std::tuple<LayerRole, std::string, Channels>> seen;
  for (const LayerEstimate& l : e.layers) {
    if (!l.measured && seen.insert({l.role, l.kind, l.channels}).second)
      gain.seconds += kSecondsToMeasure + kRunsToMeasure * l.time_s.value;
  }
  return gain;
}

// docs/concepts.md: G = sum g, D = sum d, H = h0 + sum h; T from G and H; E = D + P_idle (T - G).
Estimate estimate_split(const LayerModels& models, const std::vector<Layer>& layers,
                        const std::string& family, MeasureMode mode) {
  const DeviceProfile& profile = models.profile();
  SplitParts parts = split_parts(models, layers);
  const double sum_j = parts.device_j, sum_s = parts.device_s;
  const double unmeasured = parts.energies.mean > 0 ? parts.energies.unmeasured / parts.energies.mean : 0;
  apply(split_factors(profile, family), parts);
  // Nobody issues what is replayed.
  if (mode == MeasureMode::kReplay) parts.host_s = parts.host_s_variance = 0;
  Estimate e;
  e.idle_power_w = profile.idle_power_w().value_or(0);
  Composed whole = compose(parts, e.idle_power_w);
  if (profile.is_sheet()) {
    const double waiting_j = kIdleUnseen * e.idle_power_w * (whole.time_s - parts.device_s);
    whole.energy_j_variance += waiting_j * waiting_j;
  }
  e.modelled = models.modelled();
  e.unmeasured = unmeasured;
  if (parts.two_clocks) {
    e.host_time_s = parts.host_s;
    e.device_time_s = parts.device_s;
    e.device_energy_j = parts.device_j;
    e.regime = parts.host_s > parts.device_s ? Regime::kHost : Regime::kDevice;
    // What no layer's own work accounts for: the device waits, at idle power.
    e.fixed_time_s = whole.time_s - parts.device_s;
    e.fixed_energy_j = whole.energy_j - parts.device_j;
  } else {
    e.fixed_energy_j = profile.empty(Quantity::kEnergy);
    e.fixed_time_s = profile.empty(Quantity::kTime);
  }
  e.energy_j = interval_of(whole.energy_j, std::sqrt(whole.energy_j_variance));
  e.time_s = interval_of(whole.time_s, std::sqrt(whole.time_s_variance));
  add_layers(e, models, layers, surface_map(split_plans(layers)), parts.energies, parts.times);
  if (parts.energies.unmeasured_places > 0 && !profile.is_sheet()) e.gain = gain_of(parts, e.idle_power_w, e);
  if (parts.two_clocks) {
    for (LayerEstimate& layer : e.layers) {
      layer.energy_j = layer.energy_j * (parts.device_j / sum_j);
      layer.time_s = layer.time_s * (parts.device_s / sum_s);
    }
  }
  return e;
}

// NeuralPower's way: forward, backward and update, each measured by itself, added up over layers.
Estimate estimate_neuralpower(const LayerModels& models, const std::vector<Layer>& layers,
                              const std::string& /*family*/, MeasureMode /*mode*/) {
  const std::vector<SurfacePlan> plans = neuralpower_plans(layers);
  Estimate e;
  e.modelled = models.modelled();
  LayerSum energy, time;
  const auto add = [](LayerSum& sum, const LayerSum& stage, std::size_t i, std::size_t of) {
    sum.layer_mean[i] += stage.layer_mean[of];
    sum.layer_deviation[i] = std::hypot(sum.layer_deviation[i], stage.layer_deviation[of]);
  };
  for (LayerSum* sum : {&energy, &time}) {
    sum->layer_mean.assign(layers.size(), 0);
    sum->layer_deviation.assign(layers.size(), 0);
  }
  for (Phase phase : kStages) {
    const auto surface_of = surface_map(plans, phase);
    std::vector<Layer> with;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (!surface_of.count(layers[i].key())) continue;  // nothing to update
      with.push_back(layers[i]);
      index.push_back(i);
    }
    const LayerSum joules = sum_layers(models, with, surface_of, Quantity::kEnergy);
    const LayerSum seconds = sum_layers(models, with, surface_of, Quantity::kTime);
    for (std::size_t k = 0; k < with.size(); ++k) {
      add(energy, joules, index[k], k);
      add(time, seconds, index[k], k);
    }
    energy.mean += joules.mean;
    energy.variance += joules.variance;
    time.mean += seconds.mean;
    time.variance += seconds.variance;
  }
  e.energy_j = interval_of(energy.mean, std::sqrt(energy.variance));
  e.time_s = interval_of(time.mean, std::sqrt(time.variance));
  add_layers(e, models, layers, surface_map(plans, Phase::kForward), energy, time);
  return e;
}

// Equation 4 of the paper.
Estimate sum_as_published(const LayerModels& models, const std::vector<Layer>& layers,
                          const std::vector<SurfacePlan>& plans) {
  std::map<std::string, std::string> surface_of = surface_map(plans);
  for (const Layer& layer : layers) {
    // A network of one layer is an output layer to the paper.
    if (layer.role == LayerRole::kOnly)
      surface_of[layer.key()] = surface_of.at("output/" + layer.kind.word());
  }
  const LayerSum energy = sum_layers(models, layers, surface_of, Quantity::kEnergy);
  const LayerSum time = sum_layers(models, layers, surface_of, Quantity::kTime);
  Estimate e;
  e.modelled = models.modelled();
  e.energy_j = interval_of(energy.mean, std::sqrt(energy.variance));
  e.time_s = interval_of(time.mean, std::sqrt(time.variance));
  add_layers(e, models, layers, surface_of, energy, time);
  return e;
}

Estimate estimate_paper(const LayerModels& models, const std::vector<Layer>& layers,
                        const std::string& /*family*/, MeasureMode /*mode*/) {
  return sum_as_published(models, layers, paper_plans(layers));
}

Estimate estimate_paper_replay(const LayerModels& models, const std::vector<Layer>& layers,
                               const std::string& /*family*/, MeasureMode /*mode*/) {
  return sum_as_published(models, layers, paper_replay_plans(layers));
}

}  // namespace

Interval interval_of(double mean, double deviation) {
  if (!(mean > 0)) return {mean, mean - kZ95 * deviation, mean + kZ95 * deviation};
  const double s = std::sqrt(std::log1p(deviation * deviation / (mean * mean)));
  return {mean, mean * std::exp(-kZ95 * s), mean * std::exp(kZ95 * s)};
}

Interval operator*(const Interval& i, double factor) {
  return {i.value * factor, i.low * factor, i.high * factor};
}

const char* to_word(Regime regime) {
  switch (regime) {
    case Regime::kDevice:
      return "device-bound";
    case Regime::kHost:
      return "host-bound";
    default:
      return "cpu";
  }
}

const std::vector<Method>& methods() {
  // Name, description; learns composition, takes probes, subtracts; tells eager training, tells replays.
  static const std::vector<Method> table = {
      {kSplit, "layers alone, device and host times added up apart (the default)", true, true, false, true,
       true, split_plans, split_plan_of, estimate_split},
      {"paper", "the published method: 1-, 2- and 3-layer networks, subtraction, sums", false, false, true,
       true, false, paper_plans, paper_plan_of, estimate_paper},
      {"paper-replay", "the same with its networks replayed, for training with --mode replay", false, false,
       true, false, true, paper_replay_plans, paper_plan_of, estimate_paper_replay},
      {"neuralpower", "forward, backward and update of each layer measured apart, then added up", false,
       false, false, true, false, neuralpower_plans, neuralpower_plan_of, estimate_neuralpower},
  };
  return table;
}

const Method& find_method(const std::string& name) {
  std::string known;
  for (const Method& m : methods()) {
    if (name == m.name) return m;
    known += (known.empty() ? "" : ", ") + std::string(m.name);
  }
  throw bad_input("no method is called \"" + name + "\" (known: " + known + ")");
}

void require_mode(const Method& method, MeasureMode mode) {
  const bool replay = mode == MeasureMode::kReplay;
  if (replay ? method.tells_replay : method.tells_eager) return;
  throw bad_input(std::string("--mode ") + (replay ? "replay" : "eager") + ": " + method.name +
                  " tells the cost of " + (replay ? "eager" : "replayed") + " training only");
}

LayerModels models_for(const DeviceProfile& profile, const Method& method, const std::vector<Layer>& layers,
                       Probes probes) {
  return {profile, method.plans(layers), probes};
}

std::vector<std::string> missing_surfaces(const LayerModels& models, const Method& method,
                                          const std::vector<Layer>& layers) {
  std::vector<std::string> missing;
  for (const SurfacePlan& p : method.plans(layers)) {
    if (!models.tells(p.key)) missing.push_back(p.key);
  }
  return missing;
}

}  // namespace ampere

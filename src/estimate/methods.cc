#include <cmath>

#include "base/error.h"
#include "estimate/estimate.h"
#include "estimate/sum.h"

namespace ampere {
namespace {

constexpr double kZ95 = 1.959963984540054;

std::map<std::string, std::string> surface_map(const std::vector<SurfacePlan>& plans) {
  std::map<std::string, std::string> map;
  for (const SurfacePlan& p : plans) map[p.layer_key] = p.key;
  return map;
}

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

void add_layers(Estimate& e, DeviceProfile& profile, const std::vector<Layer>& layers,
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
    l.extrapolated = outside(profile.points(surface_of.at(layers[i].key())), layers[i].channels);
    e.layers.push_back(std::move(l));
  }
}

bool has_host_times(DeviceProfile& profile) {
  for (const StoredPoint& p : profile.points(kEmptyKey)) {
    if (p.measurement.host_s) return true;
  }
  return false;
}

// docs/concepts.md: G = sum g, D = sum d, H = h0 + sum h; T = max(G, H); E = D + P_idle (T - G).
Estimate estimate_split(DeviceProfile& profile, const std::vector<Layer>& layers) {
  const std::vector<SurfacePlan> plans = split_plans(layers);
  profile.add_plans(plans);
  const auto surface_of = surface_map(plans);
  const LayerSum energy = sum_layers(profile, layers, surface_of, Quantity::kEnergy);
  const LayerSum device = sum_layers(profile, layers, surface_of, Quantity::kTime);

  Estimate e;
  e.method = "split";
  e.modelled = profile.modelled();
  e.fixed_energy_j = profile.empty(Quantity::kEnergy);
  e.fixed_time_s = profile.empty(Quantity::kTime);
  double mean_j = energy.mean + e.fixed_energy_j;
  double mean_s = device.mean + e.fixed_time_s;
  double variance_s = device.variance;
  if (has_host_times(profile)) {
    const LayerSum host = sum_layers(profile, layers, surface_of, Quantity::kHost);
    e.host_time_s = host.mean + profile.empty(Quantity::kHost);
    e.regime = e.host_time_s > mean_s ? Regime::kHost : Regime::kDevice;
    if (e.regime == Regime::kHost) {
      mean_j += profile.idle_power_w().value_or(0) * (e.host_time_s - mean_s);
      mean_s = e.host_time_s;
      variance_s = host.variance;
    }
  }
  e.energy_j = interval_of(mean_j, std::sqrt(energy.variance));
  e.time_s = interval_of(mean_s, std::sqrt(variance_s));
  add_layers(e, profile, layers, surface_of, energy, device);
  return e;
}

// Equation 4 of the paper.
Estimate estimate_paper(DeviceProfile& profile, const std::vector<Layer>& layers) {
  const std::vector<SurfacePlan> plans = paper_plans(layers);
  profile.add_plans(plans);
  std::map<std::string, std::string> surface_of = surface_map(plans);
  for (const Layer& layer : layers) {
    // A network of one layer is an output layer to the paper.
    if (layer.role == LayerRole::kOnly)
      surface_of[layer.key()] = surface_of.at("output/" + layer.kind.word());
  }
  const LayerSum energy = sum_layers(profile, layers, surface_of, Quantity::kEnergy);
  const LayerSum time = sum_layers(profile, layers, surface_of, Quantity::kTime);
  Estimate e;
  e.method = "paper";
  e.modelled = profile.modelled();
  e.energy_j = interval_of(energy.mean, std::sqrt(energy.variance));
  e.time_s = interval_of(time.mean, std::sqrt(time.variance));
  add_layers(e, profile, layers, surface_of, energy, time);
  return e;
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
  static const std::vector<Method> table = {
      {"split", "one-layer probes, device and host times added up apart (the default)", true, split_plans,
       estimate_split},
      {"paper", "the published method: 1-, 2- and 3-layer networks, subtraction, sums", false, paper_plans,
       estimate_paper},
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

std::vector<std::string> missing_surfaces(DeviceProfile& profile, const Method& method,
                                          const std::vector<Layer>& layers) {
  const std::vector<SurfacePlan> plans = method.plans(layers);
  profile.add_plans(plans);
  std::vector<std::string> missing;
  for (const SurfacePlan& p : plans) {
    if (!profile.has(p.key)) missing.push_back(p.key);
  }
  return missing;
}

}  // namespace ampere

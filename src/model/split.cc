#include "model/split.h"

#include <algorithm>
#include <cmath>

namespace ampere {
namespace {

// Of the norm that joins both times; infinity would be a perfect overlap.
constexpr double kOverlap = 8;

// How far the sum of host times may be off a network that nobody has trained.
constexpr double kHostUnknown = 0.25;
// The same of a host that nobody has seen: of four in Zeus's traces the slowest took 2.4 times as long as the
// fastest (results/zeus.md).
constexpr double kHostUnseen = 0.5;

// Layers of one kind share one host time, so they err together.
void add_host(const LayerModels& models, const std::vector<Layer>& layers,
              const std::map<std::string, std::string>& surface_of, SplitParts& parts) {
  std::map<std::string, int> count;
  for (const Layer& layer : layers) ++count[surface_of.at(layer.key())];
  const bool captured = !layers.empty() && is_captured(layers.front().kind);  // has a part for the loop
  parts.host_s = captured ? 0 : models.profile().empty(Quantity::kHost);
  for (const auto& [key, n] : count) {
    const HostTime host = models.host(key);
    parts.host_s += n * host.mean;
    parts.host_s_variance += n * n * host.deviation * host.deviation;
  }
  if (!models.profile().is_sheet()) return;
  const double unseen = kHostUnseen * parts.host_s;
  parts.host_s_variance += unseen * unseen;
}

// What the factor leaves open counts as the networks' own spread (CompositionError::deviation of the totals),
// so here only the value is scaled.
void scale(double& value, double& variance, const CompositionError& factor) {
  const double f = factor.factor(value);
  value *= f;
  variance *= f * f;
}

}  // namespace

SplitParts split_parts(const LayerModels& models, const std::vector<Layer>& layers) {
  const DeviceProfile& profile = models.profile();
  const auto surface_of = surface_map(split_plans(layers));
  SplitParts parts;
  parts.two_clocks = profile.two_clocks();
  parts.energies = sum_energies(models, layers, surface_of);
  parts.times = sum_layers(models, layers, surface_of, Quantity::kTime);
  parts.device_s = parts.times.mean;
  parts.device_j = parts.energies.mean;
  parts.device_s_variance = parts.times.variance;
  parts.device_j_variance = parts.energies.variance;
  if (parts.two_clocks) {
    add_host(models, layers, surface_of, parts);
  } else {
    parts.device_s += profile.empty(Quantity::kTime);
    parts.device_j += profile.empty(Quantity::kEnergy);
  }
  return parts;
}

SplitFactors split_factors(const DeviceProfile& profile, const std::string& family) {
  SplitFactors factors{composition_of(profile, kSplit, family, Part::kDeviceTime),
                       composition_of(profile, kSplit, family, Part::kDeviceEnergy),
                       composition_of(profile, kSplit, family, Part::kHostTime)};
  return factors;
}

void apply(const SplitFactors& factors, SplitParts& parts) {
  if (!parts.two_clocks) return;
  scale(parts.device_s, parts.device_s_variance, factors.device_s);
  scale(parts.device_j, parts.device_j_variance, factors.device_j);
  scale(parts.host_s, parts.host_s_variance, factors.host_s);
  if (factors.host_s.networks > 0) return;
  const double unknown = kHostUnknown * parts.host_s;
  parts.host_s_variance += unknown * unknown;
}

double overlapped(double device_s, double host_s) {
  const double longer = std::max(device_s, host_s);
  if (!(longer > 0)) return 0;
  return longer *
         std::pow(std::pow(device_s / longer, kOverlap) + std::pow(host_s / longer, kOverlap), 1 / kOverlap);
}

double host_behind(double time_s, double device_s) {
  if (!(time_s > device_s)) return 0;
  return time_s * std::pow(1 - std::pow(device_s / time_s, kOverlap), 1 / kOverlap);
}

Composed compose(const SplitParts& p, double idle_w) {
  if (!p.two_clocks) return {p.device_s, p.device_j, p.device_s_variance, p.device_j_variance};
  Composed c;
  c.time_s = overlapped(p.device_s, p.host_s);
  c.energy_j = p.device_j + idle_w * (c.time_s - p.device_s);
  // Derivatives of the norm: (x / T)^(p - 1).
  const double by_device = std::pow(p.device_s / c.time_s, kOverlap - 1);
  const double by_host = std::pow(p.host_s / c.time_s, kOverlap - 1);
  c.time_s_variance = by_device * by_device * p.device_s_variance + by_host * by_host * p.host_s_variance;
  const double waiting = idle_w * (by_device - 1);
  c.energy_j_variance = p.device_j_variance + waiting * waiting * p.device_s_variance +
                        idle_w * idle_w * by_host * by_host * p.host_s_variance;
  return c;
}

}  // namespace ampere

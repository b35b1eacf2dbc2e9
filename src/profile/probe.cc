#include "profile/probe.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
#include "model/layer_models.h"

namespace ampere {
namespace {

// One layer at its own channels, as often as the network has it.
struct Place {
  const SurfacePlan* plan;
  Channels channels;
  int count = 0;
  double energy_j = 0;   // of all of them, as the surface tells it
  double unknown_j = 0;  // standard deviation of that; everything where there is no surface yet
  bool unprofiled = false;
};

bool metered(const std::vector<StoredPoint>& points, std::optional<Channels> at = {}) {
  return std::any_of(points.begin(), points.end(), [&](const StoredPoint& p) {
    return p.measurement.energy_j && (!at || p.channels == *at);
  });
}

// Its energy was measured: at these channels, or anywhere.
bool metered(const DeviceProfile& profile, const SurfacePlan& plan, std::optional<Channels> at = {}) {
  return metered(profile.points(plan.key), at) ||
         metered(profile.points(probe_of(plan.surface, Purpose::kTimedProbe).name), at) ||
         metered(profile.points(probe_of(plan.surface).name), at);
}

std::vector<Place> places_of(const LayerModels& models, const std::vector<SurfacePlan>& plans,
                             const std::vector<Layer>& layers) {
  std::map<std::string, const SurfacePlan*> by_layer;
  for (const SurfacePlan& p : plans) by_layer[p.layer_key] = &p;
  std::map<std::pair<std::string, Channels>, Place> places;
  for (const Layer& layer : layers) {
    const SurfacePlan* plan = by_layer.at(layer.key());
    Place& place = places.try_emplace({plan->key, layer.channels}, Place{plan, layer.channels}).first->second;
    ++place.count;
  }
  std::vector<Place> out;
  for (auto& [key, place] : places) {
    if (!metered(models.profile(), *place.plan)) {
      place.unprofiled = true;
    } else {
      const SurfacePrediction p = models.energies(place.plan->key, {place.channels});
      place.energy_j = place.count * p.mean(0);
      place.unknown_j = place.count * std::sqrt(std::max(0.0, p.covariance(0, 0)));
    }
    out.push_back(place);
  }
  return out;
}

}  // namespace

ProbeSummary probe_layers(DeviceProfile& profile, const std::vector<Layer>& layers, const Measure& measure,
                          const ProbeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<SurfacePlan> plans = split_plans(layers);
  if (profile.points(empty_surface().name).empty()) {
    const MeasureRequest request = request_for(empty_iteration(), 1, options.how);
    profile.add_point(empty_surface(), {0, 0}, provenance(request), measure_as_asked(measure, request));
  }
  ProbeSummary summary;
  std::vector<Place> places = places_of(LayerModels(profile, plans), plans, layers);
  summary.layers = static_cast<int>(places.size());
  double total_j = 0;
  for (const Place& p : places) total_j += p.energy_j;

  std::vector<Place> wanted;
  for (const Place& p : places) {
    if (metered(profile, *p.plan, p.channels)) {
      ++summary.known;
    } else if (options.all || p.unprofiled || p.unknown_j > options.matters * total_j) {
      wanted.push_back(p);
    }
  }
  std::sort(wanted.begin(), wanted.end(), [](const Place& a, const Place& b) {
    return std::make_pair(a.unprofiled, a.unknown_j) > std::make_pair(b.unprofiled, b.unknown_j);
  });
  int done = 0;
  for (const Place& p : wanted) {
    if (options.enough && options.enough()) break;
    const MeasureRequest request = request_for(p.plan->variant(p.channels), p.plan->kind.batch, options.how);
    try {
      const Measurement m = measure_as_asked(measure, request);
      profile.add_point(probe_of(p.plan->surface), p.channels, provenance(request), m);
      ++summary.measured;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kOutOfMemory || p.unprofiled) throw;
    }
    if (options.progress) options.progress(++done, static_cast<int>(wanted.size()));
  }
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

}  // namespace ampere

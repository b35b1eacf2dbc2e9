#include "profile/probe.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
#include "model/layer_models.h"
#include "model/part_work.h"

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

// What they cost is told unless all of them are wanted whatever it is.
std::vector<Place> places_of(const LayerModels& models, const std::vector<SurfacePlan>& plans,
                             const std::vector<Layer>& layers, bool all) {
  std::map<std::string, const SurfacePlan*> by_layer;
  for (const SurfacePlan& p : plans) by_layer[p.layer_key] = &p;
  std::map<std::pair<std::string, Channels>, Place> places;
  for (const Layer& layer : layers) {
    const SurfacePlan* plan = by_layer.at(layer.key());
    Place& place = places.try_emplace({plan->key, layer.channels}, Place{plan, layer.channels}).first->second;
    ++place.count;
  }
  std::vector<Place> out;
  std::vector<std::size_t> told;  // by what else was measured on the device
  for (auto& [key, place] : places) {
    const std::string& surface = place.plan->key;
    if (metered(models.profile(), *place.plan)) {
      const SurfacePrediction p = models.energies(surface, {place.channels});
      place.energy_j = place.count * p.mean(0);
      place.unknown_j = place.count * std::sqrt(std::max(0.0, p.covariance(0, 0)));
    } else if (!all && !is_loop_part(place.plan->kind) && models.tells(surface) &&
               models.told(surface, place.channels)) {
      told.push_back(out.size());
    } else {
      place.unprofiled = true;
    }
    out.push_back(place);
  }
  if (told.empty()) return out;
  std::vector<LayerPlace> asked;
  asked.reserve(told.size());
  for (const std::size_t i : told) asked.push_back({out[i].plan->key, out[i].channels});
  const WorkCosts& costs = models.unmeasured(asked);
  for (std::size_t i = 0; i < told.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    Place& place = out[told[i]];
    place.energy_j = place.count * costs.energy_j(row);
    place.unknown_j = place.energy_j * std::sqrt(std::max(0.0, costs.energy_covariance(row, row)));
  }
  return out;
}

}  // namespace

ProbeSummary probe_layers(DeviceProfile& profile, const std::vector<Layer>& layers, const Measure& measure,
                          const ProbeOptions& options) {
  const std::vector<SurfacePlan> plans = split_plans(layers);
  if (profile.points(empty_surface().name).empty()) {
    const MeasureRequest request = request_for(empty_iteration(), 1, options.how);
    profile.add_point(empty_surface(), {0, 0}, provenance(request), measure_as_asked(measure, request));
  }
  ProbeSummary summary;
  std::vector<Place> places = places_of(LayerModels(profile, plans), plans, layers, options.all);
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
  const auto seconds_since = [](std::chrono::steady_clock::time_point t) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
  };
  const double budget_s = options.seconds_a_layer * static_cast<double>(layers.size());
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point first_done =
      start;  // the first may have to wait for a worker to begin
  int done = 0;
  for (const Place& p : wanted) {
    if (options.enough && options.enough()) break;
    const double each_s = done > 1 ? seconds_since(first_done) / (done - 1) : 0;
    if (!p.unprofiled && (done + 1) * each_s > budget_s) break;
    const MeasureRequest request = request_for(p.plan->variant(p.channels), p.plan->kind.batch, options.how);
    try {
      const Measurement m = measure_as_asked(measure, request);
      profile.add_point(probe_of(p.plan->surface), p.channels, provenance(request), m);
      ++summary.measured;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kOutOfMemory || p.unprofiled) throw;
    }
    if (done++ == 0) first_done = std::chrono::steady_clock::now();
    if (options.progress) options.progress(done, static_cast<int>(wanted.size()));
  }
  summary.seconds = seconds_since(start);
  return summary;
}

}  // namespace ampere

#include "report/known_plans.h"

#include <set>

#include "base/error.h"
#include "estimate/estimate.h"

namespace ampere {
namespace {

// What was trained, as provenance() wrote it.
KnownNetwork trained(const StoredPoint& point, const std::string& recipe) {
  const MeasureRequest request =
      measure_request_from_json(parse_json(point.variant, "the store, " + point.surface));
  return {request.network, request.batch, recipe};
}

}  // namespace

std::vector<KnownNetwork> whole_networks(const Store& store, const std::string& device) {
  std::vector<KnownNetwork> networks;
  std::set<std::string> seen;
  const std::vector<SurfaceCount> surfaces = store.surfaces(device);
  // The profiled network itself comes before random ones of its family.
  for (const Purpose purpose : {Purpose::kWhole, Purpose::kTruth}) {
    for (const SurfaceCount& s : surfaces) {
      if (s.surface.purpose != purpose) continue;
      if (!seen.insert(s.recipe + " " + s.surface.family).second) continue;
      const std::vector<StoredPoint> points = store.points(device, s.recipe, s.surface.name);
      if (!points.empty()) networks.push_back(trained(points.front(), s.recipe));
    }
  }
  return networks;
}

KnownSurfaces known_surfaces(const Store& store, const std::string& device) {
  KnownSurfaces out;
  for (const SurfaceCount& s : store.surfaces(device)) {
    if (s.surface.purpose != Purpose::kSurface) continue;
    try {
      out.surfaces.push_back({find_method(s.surface.method).plan_of(s.surface), s.recipe, s.surface.method});
    } catch (const Error&) {  // of a method that is no more, or of a kind that nothing tells
      out.unknown.push_back(s.surface.name);
    }
  }
  return out;
}

}  // namespace ampere

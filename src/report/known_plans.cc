#include "report/known_plans.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "estimate/estimate.h"
#include "network/network_json.h"

namespace ampere {
namespace {

bool starts_with(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

// What was trained, as provenance() wrote it.
KnownNetwork trained(const StoredPoint& point, const std::string& recipe) {
  const MeasureRequest request =
      measure_request_from_json(parse_json(point.variant, "the store, " + point.surface));
  return {request.network, request.batch, recipe};
}

// "truth1/cnn5:c1=3#21f366f9@b10" -> "cnn5@b10": what networks of one family share.
std::string family_in(const std::string& surface) {
  const std::string name = surface.substr(surface.find('/') + 1);
  const auto batch = name.rfind('@');
  return name.substr(0, name.find_first_of(":#")) + (batch == std::string::npos ? "" : name.substr(batch));
}

// Which numbers vary, as the points show.
Surface surface_shown_by(const std::vector<StoredPoint>& points) {
  std::set<std::int64_t> in, out;
  bool tied = true;
  for (const StoredPoint& p : points) {
    in.insert(p.channels.in);
    out.insert(p.channels.out);
    tied = tied && p.channels.in == p.channels.out;
  }
  if (in.size() < 2 && out.size() < 2) return Surface::kPoint;
  if (tied) return Surface::kTied;
  if (in.size() < 2) return Surface::kOut;
  return out.size() < 2 ? Surface::kIn : Surface::kInOut;
}

// The plan of a surface of `split`, from the layers that were trained alone for it.
std::optional<SurfacePlan> recovered(const std::string& key, const std::vector<StoredPoint>& points) {
  // The widest tells most: of one channel, a convolution in groups looks like any other.
  const auto widest =
      std::max_element(points.begin(), points.end(), [](const StoredPoint& a, const StoredPoint& b) {
        return a.channels.in + a.channels.out < b.channels.in + b.channels.out;
      });
  const KnownNetwork alone = trained(*widest, "");
  for (Layer& layer : parse_layers(alone.network, alone.batch)) {
    for (LayerRole role : {LayerRole::kInput, LayerRole::kHidden, LayerRole::kOutput, LayerRole::kOnly}) {
      for (Surface surface : {surface_shown_by(points), Surface::kInOut, Surface::kTied, Surface::kPoint,
                              Surface::kIn, Surface::kOut}) {
        layer.role = role;
        layer.kind.surface = surface;
        layer.kind.fixed = widest->channels;
        if ("split/" + layer.key() == key) return split_plans({layer}).front();
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<KnownNetwork> whole_networks(const Store& store, const std::string& device) {
  std::vector<KnownNetwork> networks;
  std::set<std::string> seen;
  const std::vector<SurfaceCount> surfaces = store.surfaces(device);
  // "whole/" holds the profiled network itself, "truth1/" random ones of its family.
  for (const char* kind : {"whole", "truth"}) {
    for (const SurfaceCount& s : surfaces) {
      if (!starts_with(s.surface, kind)) continue;
      if (!seen.insert(s.recipe + " " + family_in(s.surface)).second) continue;
      const std::vector<StoredPoint> points = store.points(device, s.recipe, s.surface);
      if (!points.empty()) networks.push_back(trained(points.front(), s.recipe));
    }
  }
  return networks;
}

KnownSurfaces known_surfaces(const Store& store, const std::string& device,
                             const std::vector<KnownNetwork>& networks) {
  std::map<std::string, SurfacePlan> plans;
  for (const KnownNetwork& n : networks) {
    const std::vector<Layer> layers = parse_layers(n.network, n.batch);
    for (const Method& method : methods()) {
      for (SurfacePlan& plan : method.plans(layers)) plans.emplace(plan.key, std::move(plan));
    }
  }
  KnownSurfaces out;
  for (const SurfaceCount& s : store.surfaces(device)) {
    const std::string method = s.surface.substr(0, s.surface.find('/'));
    const bool ours =
        std::any_of(methods().begin(), methods().end(), [&](const Method& m) { return method == m.name; });
    if (!ours || s.surface == kEmptyKey) continue;
    if (!plans.count(s.surface) && method == "split") {
      if (auto plan = recovered(s.surface, store.points(device, s.recipe, s.surface)))
        plans.emplace(s.surface, std::move(*plan));
    }
    const auto plan = plans.find(s.surface);
    if (plan == plans.end())
      out.unknown.push_back(s.surface);
    else
      out.surfaces.push_back({plan->second, s.recipe, method});
  }
  for (auto& [key, plan] : plans) out.plans.push_back(std::move(plan));
  return out;
}

}  // namespace ampere

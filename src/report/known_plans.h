// Which surfaces a store holds and how each was made. A store keeps points by the name of their surface; the
// layer kind behind the name is told by the networks that were trained, which are kept beside the points.
#pragma once

#include <string>
#include <vector>

#include "model/surface_plan.h"
#include "store/store.h"

namespace ampere {

// A whole network that was trained on the device, or that a report was asked for.
struct KnownNetwork {
  Network network;
  std::int64_t batch = 1;
  std::string recipe;
};

// The first network of every family, batch and recipe that was trained as a whole.
std::vector<KnownNetwork> whole_networks(const Store& store, const std::string& device);

struct KnownSurface {
  SurfacePlan plan;
  std::string recipe;
  std::string method;  // "split", "paper", ...
};

struct KnownSurfaces {
  std::vector<KnownSurface> surfaces;  // in the order of the store
  // Plans behind them: those that a surface subtracts are among them.
  std::vector<SurfacePlan> plans;
  std::vector<std::string> unknown;  // surfaces whose layers nothing in the store tells
};

// All surfaces of a device that have points. `networks` tell kinds; a surface of `split` also by its own
// points.
KnownSurfaces known_surfaces(const Store& store, const std::string& device,
                             const std::vector<KnownNetwork>& networks);

}  // namespace ampere

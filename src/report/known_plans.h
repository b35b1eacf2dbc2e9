// What a store knows: its surfaces, and the whole networks that were trained.
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
  std::string method;  // a row of methods()
};

struct KnownSurfaces {
  std::vector<KnownSurface> surfaces;  // in the order of the store
  // Surfaces of stores of version 1 whose layers nothing in the store told.
  std::vector<std::string> unknown;
};

// All surfaces of a device that have points.
KnownSurfaces known_surfaces(const Store& store, const std::string& device);

}  // namespace ampere

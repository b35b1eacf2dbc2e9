// Stores of version 1 knew surfaces by their names alone. This is the one place that still reads such names.
#pragma once

#include <string>
#include <vector>

#include "store/surface.h"

namespace ampere {

// What version 1 kept under one name.
struct SurfaceOfVersion1 {
  std::string name;
  Channels widest;      // of its points
  std::string variant;  // of that point: the network that was trained and how, as JSON
};

// The same surfaces, typed. A kind that neither the name nor the trained network tells stays absent: the
// points are kept, and are used again once a network of that kind is profiled.
std::vector<StoredSurface> typed(const std::vector<SurfaceOfVersion1>& old);

}  // namespace ampere

// Where exactly a surface steps: rules that choose kernels switch from one channel number to the next, and a
// poor choice can cost several times the good one. The model tells between which numbers (gp/steps.h).
#pragma once

#include <optional>
#include <set>

#include "model/surface_model.h"

namespace ampere {

// A new place halfway between the two sides of a step whose logarithms differ by at least `least`, where they
// differ most. Absent where no such step is left with a new place between its sides.
std::optional<Channels> within_step(const SurfaceModel& model, Surface surface, const Domain& domain,
                                    const std::set<Channels>& excluded, double least);

}  // namespace ampere

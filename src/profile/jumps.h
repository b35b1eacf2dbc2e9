// Where a surface jumps: kernels are chosen by rules that switch from one channel number to the next, and a
// poor choice can cost several times the good one. A process fitted to a few dozen points does not see how
// far such a region reaches; points between the two sides do.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <set>
#include <vector>

#include "layers/parse.h"

namespace ampere {

// The place halfway between two neighbours (of Delaunay's triangles) whose residuals, logarithms of the value
// over what was expected, differ by at least `least`; of all such pairs, the one that is farthest apart and
// differs most. Absent where no such pair has a new place between them.
std::optional<Channels> between_jump(Surface surface, const Domain& domain,
                                     const std::vector<Channels>& places, const Eigen::VectorXd& residuals,
                                     const std::set<Channels>& excluded, double least);

}  // namespace ampere

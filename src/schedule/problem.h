// Whether a problem makes sense, and in which order its jobs can run.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/log_normal.h"

namespace ampere {

// Throws Error{kBadInput}: negative or unordered figures, names that are empty or occur twice, dependencies
// in a circle, costs of the wrong number.
void check(const Problem& problem);

// Jobs so that each comes behind those it depends on; otherwise in the order given. Throws Error{kBadInput}
// that names a circle.
std::vector<std::size_t> dependency_order(const Problem& problem);

}  // namespace ampere

// Several meters as one, where they measure different things.
#pragma once

#include <memory>
#include <vector>

#include "meter/meter.h"

namespace ampere {

// Adds up the parts. Throws Error{kBadInput} where two of them may count the same joule: a board, module or
// battery contains everything else, a process runs on the package, and the same scope twice is the same thing
// twice.
std::unique_ptr<Meter> make_combined_meter(std::vector<std::unique_ptr<Meter>> parts);

// The states of several devices as one (see DeviceState).
DeviceState merge_states(const std::vector<DeviceState>& states);

}  // namespace ampere

// Captured parts of a training step as work, and what issuing a step takes besides them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/device_profile.h"
#include "work/op_work.h"

namespace ampere {

// What a captured part asks of the device under this recipe, nothing if it only looks at memory. Absent for
// layers that were not captured, for the loop around the parts, and for compiled regions, whose kernels their
// calls do not tell.
std::optional<std::vector<CountedWork>> work_of_part(const LayerKind& kind, const std::string& recipe,
                                                     bool accelerator = true);

// The part that stands for the training loop: nothing runs on the device.
bool is_loop_part(const LayerKind& kind);
// What the host takes for such a loop, by others that were measured; 0 where none was, unless the device is
// but its data sheet, of which it is believed.
double loop_host_s(const DeviceProfile& profile, const LayerKind& kind);

}  // namespace ampere

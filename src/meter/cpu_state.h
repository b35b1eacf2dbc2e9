// What the CPU says of itself.
#pragma once

#include <filesystem>

#include "meter/meter.h"

namespace ampere {

// Hottest CPU thermal zone, clock of the fastest core (idle cores clock down, the busy one matters), and the
// packages' long-term power limits added up, as far as the kernel tells under `root` (see sysfs_root).
DeviceState cpu_state(const std::filesystem::path& root);

}  // namespace ampere

// Energy of CPU packages and their memory from RAPL, through the kernel's powercap folders.
#pragma once

#include <filesystem>
#include <memory>

#include "meter/meter.h"

namespace ampere {

// Adds up every package and its dram zone under `root`/class/powercap. A zone that both the MSR (intel-rapl)
// and the MMIO (intel-rapl-mmio) driver show counts once; core and uncore are inside the package; psys
// contains it all and is only used where it is alone. Counters wrap; a thread looks often enough that no wrap
// is missed. Throws Error{kNoMeter} when there are no zones, or they may not be read, with the fix.
std::unique_ptr<Meter> make_rapl_meter(const std::filesystem::path& root);

}  // namespace ampere

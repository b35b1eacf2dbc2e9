// Energy of NVIDIA GPUs from the driver's own counter.
#pragma once

#include <memory>
#include <string>

#include "meter/meter.h"

namespace ampere {

// The GPUs in `wanted` ("0,1", among those CUDA_VISIBLE_DEVICES leaves), all visible ones for an empty text.
// power() is what the power sensor says, to check the counter against; state() gives temperature, SM clock,
// power limit and throttle reasons. Throws Error{kNoMeter} where there is no driver, no visible GPU, a GPU
// without the counter (before Volta) or one in MIG mode; Error{kBadInput} for GPUs that are not there.
std::unique_ptr<Meter> make_nvml_meter(const std::string& wanted);

}  // namespace ampere

// Whether a network fits the device, told before anything is allocated.
#pragma once

#include <cstdint>

#include "network/network.h"
#include "worker/device.h"

namespace ampere::worker {

// Throws Error{kOutOfMemory} that says what is needed and what is free.
void check_memory(const Network& network, std::int64_t batch, const Device& device);

}  // namespace ampere::worker

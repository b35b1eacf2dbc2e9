// The memory of a captured step, of which each part is told by itself (docs/capture.md).
#pragma once

#include "network/network.h"
#include "work/memory_timeline.h"
#include "work/step_memory.h"

namespace ampere {

// Parts run forward in their order, backward in the opposite one, and last the optimizer.
StepMemory captured_memory(const Network& network, const AllocatorStyle& allocator);

// What a timeline says; `turn` is the first call of the backward pass.
StepMemory summary(const MemoryTimeline& line, std::size_t turn);
// Of matrices, by the library of the device.
bool takes_a_product(const std::string& op);

}  // namespace ampere

// A network -> how much memory one training step takes, told by its calls: which tensors are there when each
// is made. Nothing is run.
#pragma once

#include <cstdint>

#include "network/network.h"
#include "work/call_memory.h"
#include "work/layer_calls.h"

namespace ampere {

// Bytes that the framework's allocator hands out.
struct StepMemory {
  double weights = 0;
  double gradients = 0;    // of the weights
  double optimizer = 0;    // what the optimizer keeps from step to step
  double data = 0;         // inputs, targets, running means
  double libraries = 0;    // what libraries of the device take for themselves
  double saved = 0;        // by the forward pass for the backward pass, all of it
  double peak = 0;         // the most at any moment
  double temporaries = 0;  // of the peak: what is neither of the above but one
  // Some of it is compiled, and what a compiler keeps is not told by the calls: as if it were not.
  bool rough = false;
};

// Of networks of captured calls, `style` counts for nothing but its kind of device. Throws Error{kBadInput}.
StepMemory step_memory(const Network& network, std::int64_t batch, const StepStyle& style,
                       const AllocatorStyle& allocator);

}  // namespace ampere

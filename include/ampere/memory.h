// How much of a device's memory training a network takes, told before it is trained
// (docs/boards_realities.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ampere/device.h"
#include "ampere/model.h"
#include "ampere/recipe.h"

namespace ampere {

// In bytes, as the framework's allocator counts them: of tensors and of what libraries take through it. What
// the program and its libraries take besides, some hundred megabytes, is not among them.
struct MemoryEstimate {
  double weights_bytes = 0;
  double gradients_bytes = 0;    // of the weights
  double optimizer_bytes = 0;    // what the optimizer keeps from step to step
  double data_bytes = 0;         // inputs, targets, running means
  double saved_bytes = 0;        // activations that the forward pass keeps for the backward pass, all of them
  double libraries_bytes = 0;    // what libraries of the device take for themselves
  double temporaries_bytes = 0;  // of the peak: what is needed at that moment only
  double peak_bytes = 0;  // the most at any moment of a step; less than the sum, since not all of it is
                          // there at once
  bool rough = false;     // compiled: what a compiler keeps is guessed
};

// Where it will be trained. The allocators of processors and of CUDA devices differ, and so do frameworks.
struct MemoryPlace {
  std::string type = "cpu";                 // "cpu" or "cuda"
  std::string framework = "libtorch 1.13";  // "pytorch 2.11"
  std::string name = {};                    // "NVIDIA H200"
};

// Needs neither a device nor a worker. Networks of captured calls have one batch. Throws Error{kBadInput}.
MemoryEstimate estimate_memory(const Model& model, const TrainingSetup& setup, const MemoryPlace& place = {});
// The same for a device that is known.
MemoryEstimate estimate_memory(const Device& device, const Model& model, const TrainingSetup& setup);

// The memory of a device, where its worker told it; absent: it did not.
std::optional<double> device_memory_bytes(const Device& device);

// Of a device's memory, what is left for networks: the program, its libraries and the system take the rest.
double usable_memory_bytes(double bytes, const std::string& type = "cpu");

// The largest batch whose peak is within so many bytes, at most `most`; 0: not even one sample fits. Of
// captured calls, whose batch is fixed, as if what is not there from step to step grew with the batch.
std::int64_t largest_batch(const Model& model, const TrainingSetup& setup, const MemoryPlace& place,
                           double bytes, std::int64_t most = std::int64_t{1} << 20);

}  // namespace ampere

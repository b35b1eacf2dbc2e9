// Puts a training recipe into force. LibTorch keeps these settings for the whole process.
#pragma once

#include "measure/recipe.h"
#include "worker/device.h"

namespace ampere::worker {

// Threads, seed, determinism, precision and autotuning. Throws Error{kBadInput} when the device
// cannot train that way.
void apply_recipe(const Recipe& recipe, const Device& device);

// CPU threads for LibTorch and for a matrix library with a count of its own. Throws Error{kBadInput}
// where they are many more than the machine has cores.
void set_threads(int threads);

// While it lives, operations run in bf16 where that is safe, if the recipe says so.
class PrecisionScope {
 public:
  PrecisionScope(const Recipe& recipe, bool cpu);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  bool active_;
  bool cpu_;
};

}  // namespace ampere::worker

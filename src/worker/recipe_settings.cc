#include "worker/recipe_settings.h"

#include <ATen/autocast_mode.h>
#include <dlfcn.h>
#include <torch/torch.h>
#include <torch/version.h>

#include "base/error.h"
#include "worker/host.h"

namespace ampere::worker {
namespace {

// The calls changed their names in LibTorch 2.4.
void set_autocast(bool cpu, bool on) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  const at::DeviceType type = cpu ? at::kCPU : at::kCUDA;
  at::autocast::set_autocast_dtype(type, at::kBFloat16);
  at::autocast::set_autocast_enabled(type, on);
#else
  if (cpu) {
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(on);
  } else {
    at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
    at::autocast::set_enabled(on);
  }
#endif
}

}  // namespace

void set_threads(int threads) {
  check_threads(threads);
  at::set_num_threads(threads);
  // The pthread build of OpenBLAS does not ask OpenMP how many threads it may use.
  if (void* set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(set)(threads);
}

void apply_recipe(const Recipe& recipe, const Device& device) {
  if (recipe.precision == "tf32" && device.is_cpu()) {
    throw bad_input("recipe: precision tf32 needs a CUDA device; use fp32 or bf16 on a CPU");
  }
  set_threads(recipe.threads);
  at::Context& context = at::globalContext();
  // Warn only: a few ops have no deterministic form, and refusing them would stop whole networks.
  context.setDeterministicAlgorithms(recipe.deterministic, /*warn_only=*/true);
  context.setDeterministicCuDNN(recipe.deterministic);
  context.setBenchmarkCuDNN(recipe.autotune);
  context.setAllowTF32CuBLAS(recipe.precision == "tf32");
  context.setAllowTF32CuDNN(recipe.precision == "tf32" || recipe.precision == "default");
  torch::manual_seed(static_cast<std::uint64_t>(recipe.seed));
}

PrecisionScope::PrecisionScope(const Recipe& recipe, bool cpu)
    : active_(recipe.precision == "bf16"), cpu_(cpu) {
  if (!active_) return;
  at::autocast::increment_nesting();
  set_autocast(cpu_, true);
}

PrecisionScope::~PrecisionScope() {
  if (!active_) return;
  set_autocast(cpu_, false);
  // As Python's autocast does when it ends: weights are cast anew in the next iteration.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

}  // namespace ampere::worker

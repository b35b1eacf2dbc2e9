#include "gp/kernel.h"

#include <array>

#include "base/error.h"
#include "gp/kernels.h"

namespace ampere {
namespace {

struct KernelEntry {
  KernelType type;
  const char* word;
  std::shared_ptr<const Kernel> (*make)(double nu);
};

// A new kernel is a new file and one line here.
const std::array<KernelEntry, 5> kKernels = {{
    {KernelType::kMatern12, "matern12", [](double) { return make_matern12(); }},
    {KernelType::kMatern32, "matern32", [](double) { return make_matern32(); }},
    {KernelType::kMatern52, "matern52", [](double) { return make_matern52(); }},
    {KernelType::kMatern, "matern", [](double nu) { return make_matern(nu); }},
    {KernelType::kSquaredExponential, "squared_exponential",
     [](double) { return make_squared_exponential(); }},
}};

const KernelEntry& entry(KernelType type) {
  for (const KernelEntry& kernel : kKernels) {
    if (kernel.type == type) return kernel;
  }
  throw bad_input("unknown kernel type " + std::to_string(static_cast<int>(type)));
}

}  // namespace

std::shared_ptr<const Kernel> make_kernel(KernelType type, double nu) { return entry(type).make(nu); }

const char* to_word(KernelType type) { return entry(type).word; }

KernelType kernel_from_word(const std::string& word) {
  std::string known;
  for (const KernelEntry& kernel : kKernels) {
    if (word == kernel.word) return kernel.type;
    known += std::string(known.empty() ? "" : ", ") + kernel.word;
  }
  throw bad_input("unknown kernel \"" + word + "\"; known kernels: " + known);
}

}  // namespace ampere

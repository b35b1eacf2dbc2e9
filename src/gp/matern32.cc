#include <algorithm>
#include <array>

#include "gp/exp_minus.h"
#include "gp/kernels.h"

namespace ampere {
namespace {

// With s = sqrt(3) r:  k = (1 + s) exp(-s),  dk/d(r2) = -3/2 exp(-s)
class Matern32 final : public Kernel {
 public:
  void evaluate(std::size_t n, const double* r2, double* k, double* slope) const override {
    std::array<double, kChunk> s;
    std::array<double, kChunk> e;
    for (std::size_t first = 0; first < n; first += kChunk) {
      const std::size_t count = std::min(kChunk, n - first);
      exp_minus_root(count, 3, r2 + first, s.data(), e.data());
      for (std::size_t i = 0; i < count; ++i) k[first + i] = (1 + s[i]) * e[i];
      if (slope == nullptr) continue;
      for (std::size_t i = 0; i < count; ++i) slope[first + i] = -1.5 * e[i];
    }
  }
};

}  // namespace

std::shared_ptr<const Kernel> make_matern32() { return std::make_shared<Matern32>(); }

}  // namespace ampere

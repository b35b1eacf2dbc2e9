#include <algorithm>
#include <array>

#include "gp/exp_minus.h"
#include "gp/kernels.h"

namespace ampere {
namespace {

// Where the true slope goes to infinity, r is taken for this in it.
constexpr double kSmallestRadius = 1e-150;

// k = exp(-r),  dk/d(r2) = -exp(-r) / (2 r)
class Matern12 final : public Kernel {
 public:
  void evaluate(std::size_t n, const double* r2, double* k, double* slope) const override {
    std::array<double, kChunk> r;
    std::array<double, kChunk> e;
    for (std::size_t first = 0; first < n; first += kChunk) {
      const std::size_t count = std::min(kChunk, n - first);
      exp_minus_root(count, 1, r2 + first, r.data(), e.data());
      std::copy_n(e.begin(), count, k + first);
      if (slope == nullptr) continue;
      for (std::size_t i = 0; i < count; ++i)
        slope[first + i] = -0.5 * e[i] / std::max(r[i], kSmallestRadius);
    }
  }
};

}  // namespace

std::shared_ptr<const Kernel> make_matern12() { return std::make_shared<Matern12>(); }

}  // namespace ampere

#include "gp/exp_minus.h"
#include "gp/kernels.h"

namespace ampere {
namespace {

// k = exp(-r2 / 2),  dk/d(r2) = -k / 2
class SquaredExponential final : public Kernel {
 public:
  void evaluate(std::size_t n, const double* r2, double* k, double* slope) const override {
    for (std::size_t i = 0; i < n; ++i) k[i] = 0.5 * r2[i];
    exp_minus(n, k, k);
    if (slope == nullptr) return;
    for (std::size_t i = 0; i < n; ++i) slope[i] = -0.5 * k[i];
  }
};

}  // namespace

std::shared_ptr<const Kernel> make_squared_exponential() { return std::make_shared<SquaredExponential>(); }

}  // namespace ampere

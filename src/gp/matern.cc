#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <string>

#include "base/error.h"
#include "gp/kernels.h"

namespace ampere {
namespace {

constexpr double kSmallestNu = 0.1;
constexpr double kLargestNu = 30;
// exp(-700) is next to the smallest normal number: the kernel is zero beyond.
constexpr double kFar = 700;

// With s = sqrt(2 nu) r and c = 2^(1-nu) / Gamma(nu)  (Rasmussen & Williams 2006, eq. 4.14):
//   k = c s^nu K_nu(s),  dk/d(r2) = -c nu s^(nu-1) K_(nu-1)(s)
// The second follows from d(s^nu K_nu)/ds = -s^nu K_(nu-1) and ds/d(r2) = nu / s.
class Matern final : public Kernel {
 public:
  explicit Matern(double nu)
      : nu_(nu),
        factor_(std::exp2(1 - nu) / std::tgamma(nu)),
        // Closer than this k differs from its limit by less than rounding, and K_nu has not overflowed yet.
        near_(nu > 2 ? 1e-8 : 1e-100) {}

  void evaluate(std::size_t n, const double* r2, double* k, double* slope) const override {
    for (std::size_t i = 0; i < n; ++i) {
      const double s = std::sqrt(2 * nu_ * r2[i]);
      k[i] = value(s);
      if (slope != nullptr) slope[i] = slope_at(s);
    }
  }

 private:
  double value(double s) const {
    if (s > kFar) return 0;
    return s < near_ ? 1 : factor_ * std::pow(s, nu_) * boost::math::cyl_bessel_k(nu_, s);
  }

  double slope_at(double s) const {
    if (s > kFar) return 0;
    if (s < near_) {
      // K_(nu-1)(s) ~ Gamma(nu-1) / 2 (2/s)^(nu-1): finite for nu > 1, and kept finite below by stopping at
      // s.
      if (nu_ > 1) return -0.5 * nu_ / (nu_ - 1);
      s = near_;
    }
    return -factor_ * nu_ * std::pow(s, nu_ - 1) * boost::math::cyl_bessel_k(std::abs(nu_ - 1), s);
  }

  double nu_;
  double factor_;
  double near_;
};

}  // namespace

std::shared_ptr<const Kernel> make_matern(double nu) {
  if (!(nu >= kSmallestNu && nu <= kLargestNu)) {
    throw bad_input("Matern smoothness nu must be between 0.1 and 30, not " + std::to_string(nu));
  }
  return std::make_shared<Matern>(nu);
}

}  // namespace ampere

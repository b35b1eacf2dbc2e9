#include "gp/kernel.h"

#include <algorithm>
#include <array>

#include "gp/exp_minus.h"

namespace ampere {
namespace {

// Where the true slope goes to infinity, r is taken for this in it.
constexpr double kSmallestRadius = 1e-150;

// k = exp(-r),  dk/d(r2) = -exp(-r) / (2 r)
void matern12(std::size_t n, const double* r2, double* k, double* slope) {
  std::array<double, kChunk> r;
  std::array<double, kChunk> e;
  exp_minus_root(n, 1, r2, r.data(), e.data());
  std::copy_n(e.begin(), n, k);
  if (slope == nullptr) return;
  for (std::size_t i = 0; i < n; ++i) slope[i] = -0.5 * e[i] / std::max(r[i], kSmallestRadius);
}

// With s = sqrt(5) r:  k = (1 + s + s^2/3) exp(-s),  dk/d(r2) = -5/6 (1 + s) exp(-s)
void matern52(std::size_t n, const double* r2, double* k, double* slope) {
  std::array<double, kChunk> s;
  std::array<double, kChunk> e;
  exp_minus_root(n, 5, r2, s.data(), e.data());
  for (std::size_t i = 0; i < n; ++i) k[i] = (1 + s[i] * (1 + s[i] * (1.0 / 3))) * e[i];
  if (slope == nullptr) return;
  for (std::size_t i = 0; i < n; ++i) slope[i] = (-5.0 / 6) * (1 + s[i]) * e[i];
}

}  // namespace

void correlate(KernelType type, std::size_t n, const double* r2, double* k, double* slope) {
  const auto chunk = type == KernelType::kMatern12 ? matern12 : matern52;
  for (std::size_t first = 0; first < n; first += kChunk) {
    chunk(std::min(kChunk, n - first), r2 + first, k + first, slope == nullptr ? nullptr : slope + first);
  }
}

}  // namespace ampere

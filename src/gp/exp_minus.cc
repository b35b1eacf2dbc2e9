#include "gp/exp_minus.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "gp/simd.h"

namespace ampere {
namespace {

constexpr double kLargest = 708;
// Adding this rounds to an integer, which is then found in the low bits of the sum.
constexpr double kRounder = 0x1.8p52;
// ln 2 in two parts; the first has zeros at its end, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fefa38p-1;
constexpr double kLn2Low = 0x1.ef35793c7673p-45;

// 1/k! for k = 13, ..., 0. On |f| <= ln(2)/2 the series cut here is wrong by less than 5e-18.
constexpr auto kSeries = [] {
  std::array<double, 14> terms{};
  double factorial = 1;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (k > 0) factorial *= static_cast<double>(k);
    terms[terms.size() - 1 - k] = 1 / factorial;
  }
  return terms;
}();

// exp(-x) = 2^k exp(f) with k = round(-x / ln 2); multiplying by 2^k adds k to the exponent's bits. There is
// no branch in it, so that the compiler can turn a loop over it into vector instructions.
AMPERE_SHARED_BODY double exp_minus_one(double x) {
  const double t = x < kLargest ? x : kLargest;
  const double rounded = kRounder - t * std::numbers::log2e;
  const double k = rounded - kRounder;
  const double f = (-t - k * kLn2High) - k * kLn2Low;
  double sum = kSeries[0];
  for (std::size_t j = 1; j < kSeries.size(); ++j) sum = sum * f + kSeries[j];
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(rounded) << 52;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) + exponent);
}

AMPERE_SHARED_BODY void exp_minus_root_body(std::size_t n, double factor, const double* x,
                                            double* __restrict root, double* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) {
    root[i] = std::sqrt(factor * x[i]);
    out[i] = exp_minus_one(root[i]);
  }
}

#if AMPERE_HAS_AVX2_VERSION
AMPERE_FOR_AVX2 void exp_minus_root_avx2(std::size_t n, double factor, const double* x, double* root,
                                         double* out) {
  exp_minus_root_body(n, factor, x, root, out);
}
#endif

}  // namespace

void exp_minus_root(std::size_t n, double factor, const double* x, double* root, double* out) {
#if AMPERE_HAS_AVX2_VERSION
  if (machine_has_avx2()) return exp_minus_root_avx2(n, factor, x, root, out);
#endif
  exp_minus_root_body(n, factor, x, root, out);
}

}  // namespace ampere

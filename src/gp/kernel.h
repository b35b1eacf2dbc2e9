// Stationary covariance functions: how alike two inputs are, given how far apart they lie.
#pragma once

#include <cstddef>

namespace ampere {

enum class KernelType {
  kMatern12,  // continuous, nowhere smooth
  kMatern52,  // twice differentiable; the usual choice
};

// The correlation k, with k(0) = 1, as a function of r2 = sum_d ((x_d - x'_d) / length_scale_d)^2. Signal
// variance and length-scales belong to the caller.
//
// For each of n values r2[i] >= 0 writes k[i] and, unless `slope` is null, slope[i] = dk/d(r2). `k` may be
// the same array as `r2`; `slope` may not. The slope is finite even where the true one is not (kMatern12 at
// r2 = 0), so that slope times a zero distance is zero.
void correlate(KernelType type, std::size_t n, const double* r2, double* k, double* slope);

}  // namespace ampere

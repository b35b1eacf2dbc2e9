// exp(-x) of many numbers: where the kernels spend their time.
#pragma once

#include <cstddef>

namespace ampere {

// out[i] = exp(-x[i]) for x[i] >= 0, to two units in the last place. Beyond 708, next to the smallest normal
// number, the answer stays that of 708. `out` may be `x`.
void exp_minus(std::size_t n, const double* x, double* out);

// root[i] = sqrt(factor * x[i]) and out[i] = exp(-root[i]). The three arrays may not overlap.
void exp_minus_root(std::size_t n, double factor, const double* x, double* root, double* out);

// Kernels go through their points in pieces that fit the fastest cache.
inline constexpr std::size_t kChunk = 256;

}  // namespace ampere

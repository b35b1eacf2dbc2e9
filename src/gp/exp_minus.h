// exp(-x) of many numbers: where the kernels spend their time.
#pragma once

#include <cstddef>

namespace ampere {

// root[i] = sqrt(factor * x[i]) and out[i] = exp(-root[i]), to two units in the last place. Beyond a root of
// 708, next to the smallest normal number, the answer stays that of 708. The three arrays may not overlap.
void exp_minus_root(std::size_t n, double factor, const double* x, double* root, double* out);

// Kernels go through their points in pieces that fit the fastest cache.
inline constexpr std::size_t kChunk = 256;

}  // namespace ampere

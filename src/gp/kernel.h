// Stationary covariance functions: how alike two inputs are, given how far apart they lie.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace ampere {

enum class KernelType {
  kMatern12,            // continuous, nowhere smooth
  kMatern32,            // once differentiable
  kMatern52,            // twice differentiable; the usual choice
  kMatern,              // any smoothness nu, through Bessel functions: over a hundred times slower
  kSquaredExponential,  // infinitely smooth
};

// A correlation k with k(0) = 1, as a function of r2 = sum_d ((x_d - x'_d) / length_scale_d)^2. Signal
// variance and length-scales belong to the caller.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // For each of n values r2[i] >= 0 writes k[i] and, unless `slope` is null, slope[i] = dk/d(r2).
  // `k` may be the same array as `r2`; `slope` may not. The slope is finite even where the true one is not
  // (rough kernels at r2 = 0), so that slope times a zero distance is zero.
  virtual void evaluate(std::size_t n, const double* r2, double* k, double* slope) const = 0;
};

// `nu` > 0 is the smoothness of kMatern and ignored by the others. Throws Error{kBadInput} for a `nu` that
// is not in [0.1, 30]; above that kSquaredExponential differs by less than 0.01.
std::shared_ptr<const Kernel> make_kernel(KernelType type, double nu = 2.5);

// The word for a kernel in files and on the command line ("matern52"), and back. An unknown word throws
// Error{kBadInput} that lists the known ones.
const char* to_word(KernelType type);
KernelType kernel_from_word(const std::string& word);

}  // namespace ampere

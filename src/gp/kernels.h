// The kernels behind make_kernel, one per source file.
#pragma once

#include <memory>

#include "gp/kernel.h"

namespace ampere {

std::shared_ptr<const Kernel> make_matern12();
std::shared_ptr<const Kernel> make_matern32();
std::shared_ptr<const Kernel> make_matern52();
std::shared_ptr<const Kernel> make_matern(double nu);
std::shared_ptr<const Kernel> make_squared_exponential();

}  // namespace ampere

// Checking and scaling what a Gaussian process is given.
#pragma once

#include "gp/gp_options.h"

namespace ampere {

// Fills in absent noise weights. Throws Error{kBadInput} for anything that Gp's header forbids.
GpData checked(GpData data);

// The relative unit of GpOptions' standard deviations: the spread of y.
double typical_spread(const GpData& data);

}  // namespace ampere

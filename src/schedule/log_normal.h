// The normal distribution behind costs that are known up to a factor.
#pragma once

#include "ampere/schedule.h"

namespace ampere {

// Of the standard normal distribution.
double normal_quantile(double probability);

}  // namespace ampere

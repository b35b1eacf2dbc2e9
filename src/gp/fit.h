// Choosing the hyperparameters of a Gaussian process by maximum marginal likelihood.
#pragma once

#include "gp/gp_options.h"

namespace ampere {

// `data` is checked and complete. Throws Error{kFailed} when the likelihood is undefined at every start.
Hyperparameters fit_hyperparameters(const GpData& data, const GpOptions& options);

}  // namespace ampere

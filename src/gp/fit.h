// Choosing the hyperparameters of a Gaussian process by maximum marginal likelihood.
#pragma once

#include "gp/gp_options.h"

namespace ampere {

struct FitResult {
  Hyperparameters hyperparameters;
  FitSummary summary;
};

// `data` is checked and complete. Throws Error{kFailed} when the likelihood is undefined at every start.
FitResult fit_hyperparameters(const GpData& data, const GpOptions& options);

}  // namespace ampere

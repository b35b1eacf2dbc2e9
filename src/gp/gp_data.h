// Checking and scaling what a Gaussian process is given.
#pragma once

#include <Eigen/Core>

#include "gp/gp_options.h"

namespace ampere {

// Fills in absent noise weights and gives an absent basis its n rows. Throws Error{kBadInput} for anything
// that Gp's header forbids.
GpData checked(GpData data);

// Throws Error{kBadInput} unless there are `dimensions` positive length-scales, a positive signal and a
// noise that is not negative, all finite.
void check(const Hyperparameters& hyperparameters, Eigen::Index dimensions);

// Throws Error{kBadInput} for bounds, priors, ranges or counts that make no sense.
void check(const GpOptions& options, Eigen::Index dimensions);

// Root mean square of each column, 1 for a column of zeros.
Eigen::VectorXd column_scales(const Eigen::MatrixXd& columns);

// The relative units of GpOptions: the spread of y, and the range of each column of x.
double typical_spread(const GpData& data);
Eigen::VectorXd input_ranges(const GpData& data, const GpOptions& options);

}  // namespace ampere

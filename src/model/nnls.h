// Least squares with coefficients that are not negative, for a handful of columns.
#pragma once

#include <Eigen/Core>

namespace ampere {

// Minimises |a x - b| over x >= 0. Tries every set of active columns, so a must have few (at most 6).
Eigen::VectorXd nonnegative_least_squares(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

}  // namespace ampere

// Bounded maximisation of a smooth function.
#pragma once

#include <Eigen/Core>
#include <functional>

namespace ampere {

// Returns the value at `x` and writes the gradient (already of the right size). May return minus infinity.
using Objective = std::function<double(const Eigen::VectorXd& x, Eigen::VectorXd* gradient)>;

struct Maximum {
  Eigen::VectorXd x;
  double value = 0;
};

// L-BFGS from `start` (moved into the bounds) until the value gains less than `tolerance` per step, or after
// `evaluations`. The answer is the best point seen; its value is minus infinity when the function was finite
// nowhere. Errors thrown by the objective come out unchanged.
Maximum maximise(const Objective& objective, const Eigen::VectorXd& start, const Eigen::VectorXd& lower,
                 const Eigen::VectorXd& upper, double tolerance, int evaluations);

}  // namespace ampere

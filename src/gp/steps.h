// Observations that step where one input passes a value: rules that choose a kernel compare one number with a
// threshold, and what it costs changes there for a whole range of the other.
#pragma once

#include <vector>

#include "gp/gp.h"

namespace ampere {

struct InputStep {
  Eigen::Index column = 0;  // of the inputs
  // It lies somewhere between: the observations do not tell where.
  double from = 0;
  double to = 0;

  // 0 below, 1 above, rising evenly in between. As an input of a process this keeps apart what lies on two
  // sides, and makes what lies in between uncertain.
  double at(double x) const;
};

// Inputs of the process: the first columns as given, one more for each step.
Eigen::MatrixXd with_steps(const Eigen::MatrixXd& x, const std::vector<InputStep>& steps);

struct SteppedGp {
  std::vector<InputStep> steps;
  Gp gp;  // its data have the columns of with_steps()

  // Variance at rows of with_steps() because they may lie on either side of a step, units of y^2: each side
  // is as likely as the row is near to it. No part of the process's own variance.
  Eigen::VectorXd undecided(const Eigen::MatrixXd& rows) const;
};

// A process over inputs and given steps, its search begun at `start`. As Gp::fit.
SteppedGp fit_given_steps(GpData data, GpOptions options, std::vector<InputStep> steps,
                          Hyperparameters start);

// Fits a process, then takes the likeliest step among all values between observations, and again, up to
// `most` times, as long as the evidence for it is more than choosing among so many would bring by chance.
SteppedGp fit_with_steps(const GpData& data, const GpOptions& options, int most);

}  // namespace ampere

// What goes into a Gaussian process: plain structs.
#pragma once

#include <Eigen/Core>
#include <optional>

#include "gp/kernel.h"

namespace ampere {

// n observations y = constant + f(x) + noise.
struct GpData {
  Eigen::MatrixXd x;              // n x d inputs, d >= 1
  Eigen::VectorXd y;              // n observations
  Eigen::VectorXd noise_weights;  // n positive factors of the noise variance; empty: all 1
};

// In the units of the data.
struct Hyperparameters {
  double signal_sd = 1;           // standard deviation of f, in units of y
  Eigen::VectorXd length_scales;  // one per input dimension, in units of x
  double noise_sd = 0;            // of an observation of weight 1, in units of y
};

// Closed interval.
struct Bounds {
  double lower;
  double upper;
};

// Gaussian belief about the logarithm of a hyperparameter.
struct LogPrior {
  double median;
  double log_sd;  // 1 means "within a factor of e, two times out of three"
};

// Bounds and priors are relative so that one default fits all data: standard deviations are in units of the
// standard deviation of y, length-scales in units of the range of each input dimension.
struct GpOptions {
  KernelType kernel = KernelType::kMatern52;
  int restarts = 5;  // optimiser starts in addition to the first one
  Bounds signal_bounds{1e-3, 1e3};

  // Off by default. With ten points or fewer the likelihood alone likes to explain everything by noise or
  // nothing by it; a weak prior settles that.
  std::optional<LogPrior> length_prior;

  // Where the first start begins; absent: signal 1, length-scales 0.5, noise 0.1, in relative units.
  std::optional<Hyperparameters> start;
};

}  // namespace ampere

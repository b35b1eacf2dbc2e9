// What goes into a Gaussian process and what a fit reports: plain structs.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>

#include "gp/kernel.h"

namespace ampere {

// n observations y = basis * beta + f(x) + noise.
struct GpData {
  Eigen::MatrixXd x;              // n x d inputs, d >= 1
  Eigen::VectorXd y;              // n observations
  Eigen::MatrixXd basis;          // n x p columns of the linear mean; empty: p = 0
  Eigen::VectorXd noise_weights;  // n positive factors of the noise variance; empty: all 1
};

// In the units of the data.
struct Hyperparameters {
  double signal_sd = 1;           // standard deviation of f, in units of y
  Eigen::VectorXd length_scales;  // one per input dimension, in units of x
  double noise_sd = 0;            // of an observation of weight 1, in units of y
};

// Closed interval; equal ends fix the value.
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
// standard deviation of y (of its least-squares residual, when there is a basis), length-scales in units of
// the range of each input dimension.
struct GpOptions {
  KernelType kernel = KernelType::kMatern52;
  int restarts = 5;       // optimiser starts in addition to the first one
  unsigned seed = 1;      // of the starting points of the restarts
  int evaluations = 200;  // most likelihood evaluations per start

  Bounds signal_bounds{1e-3, 1e3};
  Bounds length_bounds{1e-2, 1e2};
  Bounds noise_bounds{1e-4, 1e1};

  // Off by default. With ten points or fewer the likelihood alone likes to explain everything by noise or
  // nothing by it; a weak prior settles that.
  std::optional<LogPrior> length_prior;

  // Where the first start begins; absent: signal 1, length-scales 0.5, noise 0.1, in relative units.
  std::optional<Hyperparameters> start;

  // Range of each input dimension in units of x; empty: largest minus smallest value in the data.
  Eigen::VectorXd input_ranges;

  // Without a basis, the mean of y is subtracted before anything else. False: y has mean zero a priori.
  bool subtract_mean = true;
};

// Why an optimiser ended.
enum class StopReason {
  kNotFitted,        // the hyperparameters were given
  kConverged,        // no more progress within tolerance
  kRoundoff,         // no more progress within rounding: usable
  kEvaluationLimit,  // the best so far is kept
};
const char* to_word(StopReason reason);

struct FitSummary {
  StopReason reason = StopReason::kNotFitted;  // of the best start
  int starts = 0;
  int evaluations = 0;                 // of the likelihood, all starts together
  double log_marginal_likelihood = 0;  // of y in its own units, without priors
  double jitter = 0;                   // added to the variances to keep them positive definite, units of y^2
  bool at_bound = false;               // whether a fitted hyperparameter lies on one of its bounds

  // One line for people.
  std::string brief() const;
};

}  // namespace ampere

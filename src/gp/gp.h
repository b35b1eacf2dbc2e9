// Exact Gaussian-process regression.
//
//   y = constant + f(x) + noise,   f ~ GP(0, signal_sd^2 k),   noise ~ N(0, noise_sd^2 weight)
//
// The constant is the mean of the observations.
#pragma once

#include <Eigen/Core>

#include "gp/cholesky.h"
#include "gp/gp_options.h"

namespace ampere {

// Of the noiseless quantity constant + f(x) at m points.
struct GpPrediction {
  Eigen::VectorXd mean;      // units of y
  Eigen::VectorXd variance;  // units of y^2, never negative
};

struct GpJointPrediction {
  Eigen::VectorXd mean;        // m, units of y
  Eigen::MatrixXd covariance;  // m x m, units of y^2
};

// A value: copies are independent. Const members may be called from several threads at once.
//
// Data and queries of sizes that do not match, values that are not finite, or no points at all throw
// Error{kBadInput}.
class Gp {
 public:
  // Chooses the hyperparameters that maximise the marginal likelihood (times the prior, if any). One point
  // is enough. Throws Error{kFailed} when not even jitter makes the covariance positive definite.
  static Gp fit(GpData data, const GpOptions& options = {});

  // Conditions on the data with hyperparameters that are already known: of positive length-scales, a positive
  // signal, and noise that is not negative.
  Gp(GpData data, Hyperparameters hyperparameters, KernelType kernel = KernelType::kMatern52);

  // Predicted mean at one point of d inputs. The fast path: allocates nothing, checks nothing.
  double mean_at(const double* x) const;

  // x is m x d.
  GpPrediction predict(const Eigen::MatrixXd& x) const;
  GpJointPrediction joint(const Eigen::MatrixXd& x) const;

  // Log density of the observations in their own units.
  double log_marginal_likelihood() const { return factor_.log_likelihood; }

  const Hyperparameters& hyperparameters() const { return hyperparameters_; }
  const GpData& data() const { return data_; }
  Eigen::Index size() const { return data_.x.rows(); }
  Eigen::Index dimensions() const { return data_.x.cols(); }

 private:
  void check_query(const Eigen::MatrixXd& x) const;
  // Inputs over length-scales.
  Eigen::MatrixXd scaled(const Eigen::MatrixXd& x) const;
  // Covariances a priori between two sets of points, given over their length-scales, one point per row.
  Eigen::MatrixXd covariance(const Eigen::MatrixXd& scaled_rows, const Eigen::MatrixXd& scaled_columns) const;

  GpData data_;
  Hyperparameters hyperparameters_;
  KernelType kernel_;
  double offset_;             // the constant, which is subtracted from y
  Eigen::MatrixXd scaled_x_;  // n x d
  Conditioning factor_;
  Eigen::VectorXd weights_;  // alpha times the signal variance: mean = offset + weights * k
};

}  // namespace ampere

// Exact Gaussian-process regression with a linear mean.
//
//   y = basis * beta + f(x) + noise,   f ~ GP(0, signal_sd^2 k),   noise ~ N(0, noise_sd^2 weight)
//
// beta has a flat prior: it is estimated by generalised least squares inside the likelihood and its
// uncertainty is part of every predicted variance (Rasmussen & Williams 2006, section 2.7).
#pragma once

#include <Eigen/Core>

#include "gp/gls.h"
#include "gp/gp_options.h"
#include "gp/kernel.h"
#include "gp/whiten.h"

namespace ampere {

// Of the noiseless quantity basis * beta + f(x) at m points.
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
// All functions throw Error{kBadInput} for sizes that do not match, values that are not finite, no points at
// all, fewer points than basis columns, or basis columns that depend on each other at the given points.
class Gp {
 public:
  // Chooses the hyperparameters that maximise the marginal likelihood (times the priors, if any). One point
  // is enough. Throws Error{kFailed} when not even jitter makes the covariance positive definite.
  static Gp fit(GpData data, const GpOptions& options = {});

  // Conditions on the data with hyperparameters that are already known.
  static Gp with_hyperparameters(GpData data, const Hyperparameters& hyperparameters,
                                 const GpOptions& options = {});

  // Conditions on one more observation, in O(n^2), and keeps the hyperparameters.
  void add_point(const Eigen::VectorXd& x, double y, const Eigen::VectorXd& basis = {},
                 double noise_weight = 1);

  // Predicted mean at one point of d inputs and p basis values (null when p is 0). The fast path: allocates
  // nothing, checks nothing.
  double mean_at(const double* x, const double* basis = nullptr) const;

  // x is m x d and basis m x p (leave it out when p is 0).
  Eigen::VectorXd mean(const Eigen::MatrixXd& x, const Eigen::MatrixXd& basis = {}) const;
  GpPrediction predict(const Eigen::MatrixXd& x, const Eigen::MatrixXd& basis = {}) const;
  GpJointPrediction joint(const Eigen::MatrixXd& x, const Eigen::MatrixXd& basis = {}) const;

  // How far each observation is off what the others predict there, in predicted standard deviations (noise
  // included): about one for a process that knows what it does not know. Hyperparameters, and beta where
  // there is a basis, stay as fitted to all.
  Eigen::VectorXd leave_one_out() const;

  // Log density of the observations in their own units, beta integrated out, now (after any add_point).
  double log_marginal_likelihood() const;

  // Estimated coefficients of the basis columns (p).
  const Eigen::VectorXd& beta() const { return coefficients_; }

  const Hyperparameters& hyperparameters() const { return hyperparameters_; }
  const FitSummary& summary() const { return summary_; }
  const GpData& data() const { return data_; }
  Eigen::Index size() const { return data_.x.rows(); }
  Eigen::Index dimensions() const { return data_.x.cols(); }
  Eigen::Index basis_size() const { return data_.basis.cols(); }

 private:
  Gp(GpData data, const Hyperparameters& hyperparameters, const GpOptions& options);

  void factorise();
  bool solve();  // false where the basis columns depend on each other
  void check_query(const Eigen::MatrixXd& x, const Eigen::MatrixXd& basis) const;
  // Covariances a priori between two sets of points, given over their length-scales, one point per row.
  Eigen::MatrixXd covariance(const Eigen::MatrixXd& scaled_rows, const Eigen::MatrixXd& scaled_columns) const;
  // p x m: what the basis (m x p) at the query points has beyond what the observations explain of it, so that
  // its column sums of squares are the variance due to beta. `whitened` is n x m.
  Eigen::MatrixXd basis_excess(const Eigen::MatrixXd& whitened, const Eigen::MatrixXd& basis) const;
  // Covariances between the observations and a few points over their length-scales, one point per lane.
  void fill_lanes(const Eigen::ArrayXXd& points, Whitener::Lanes* lanes) const;

  GpData data_;
  Hyperparameters hyperparameters_;
  FitSummary summary_;
  KernelType kernel_;
  bool subtract_mean_;
  double offset_ = 0;            // what was subtracted from y
  Eigen::VectorXd basis_scale_;  // root mean square of each basis column; scaled columns are well conditioned
  Eigen::MatrixXd scaled_x_;     // n x d, inputs over length-scales
  GlsFactor factor_;
  Eigen::VectorXd coefficients_;  // beta of the basis columns as given
  Eigen::VectorXd weights_;  // alpha times the signal variance: mean = offset + basis * beta + weights * k
};

}  // namespace ampere

// The log marginal likelihood of a Gaussian process as a function of its log hyperparameters.
#pragma once

#include <Eigen/Core>

#include "gp/cholesky.h"
#include "gp/kernel.h"

namespace ampere {

// The parameters are logarithms, in this order: signal sd, one length-scale per dimension, noise sd;
// in the units of the `x` and `y` given here. Workspaces are kept between calls: not for several threads.
class Likelihood {
 public:
  // x is n x d, y and noise_weights n. Sizes and values are the caller's business.
  Likelihood(const Eigen::MatrixXd& x, Eigen::VectorXd y, Eigen::VectorXd noise_weights, KernelType kernel);

  // The log marginal likelihood and, unless null, its gradient (resized). Minus infinity and a zero gradient
  // when the covariance stays singular in spite of jitter.
  double evaluate(const Eigen::VectorXd& log_parameters, Eigen::VectorXd* gradient);

 private:
  void fill_covariance(double signal_variance, double noise_variance, double jitter);
  void add_gradient(double signal_variance, double noise_variance, double jitter, Eigen::VectorXd* gradient);

  Eigen::VectorXd y_;
  Eigen::VectorXd noise_weights_;
  KernelType kernel_;
  // Pairs (i, j) with i > j, column after column of the lower half.
  Eigen::MatrixXd squares_;      // pairs x length-scales, squared differences
  Eigen::VectorXd correlation_;  // pairs
  Eigen::VectorXd slope_;        // pairs, d correlation / d(r2)
  Eigen::VectorXd length_weights_;
  Conditioning factor_;
};

}  // namespace ampere

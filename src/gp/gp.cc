#include "gp/gp.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "gp/fit.h"
#include "gp/gp_data.h"

namespace ampere {

Gp Gp::fit(GpData data, const GpOptions& options) {
  data = checked(std::move(data));
  Hyperparameters best = fit_hyperparameters(data, options);
  return {std::move(data), std::move(best), options.kernel};
}

Gp::Gp(GpData data, Hyperparameters hyperparameters, KernelType kernel)
    : data_(checked(std::move(data))),
      hyperparameters_(std::move(hyperparameters)),
      kernel_(kernel),
      offset_(data_.y.mean()),
      scaled_x_(scaled(data_.x)) {
  const double signal_variance = hyperparameters_.signal_sd * hyperparameters_.signal_sd;
  const double noise_variance = hyperparameters_.noise_sd * hyperparameters_.noise_sd;
  const Eigen::VectorXd y = data_.y.array() - offset_;
  const Eigen::MatrixXd k = covariance(scaled_x_, scaled_x_);
  const double mean_variance = signal_variance + noise_variance * data_.noise_weights.mean();
  for (double relative = 0; relative >= 0; relative = next_jitter(relative)) {
    factor_.chol = k;
    factor_.chol.diagonal().array() +=
        noise_variance * data_.noise_weights.array() + relative * mean_variance;
    if (!condition(y, &factor_)) continue;
    weights_ = factor_.alpha * signal_variance;
    return;
  }
  throw Error(ErrorKind::kFailed, "Gaussian process: the covariance of " + std::to_string(size()) +
                                      " points is not positive definite");
}

}  // namespace ampere

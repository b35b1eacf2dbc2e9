#include "gp/gp.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "gp/cholesky.h"
#include "gp/fit.h"
#include "gp/gp_data.h"

namespace ampere {
namespace {

constexpr const char* kDependent = "Gaussian process: the basis columns depend on each other at these points";

}  // namespace

Gp::Gp(GpData data, const Hyperparameters& hyperparameters, const GpOptions& options)
    : data_(std::move(data)),
      hyperparameters_(hyperparameters),
      kernel_(options.kernel),
      subtract_mean_(options.subtract_mean && data_.basis.cols() == 0),
      basis_scale_(column_scales(data_.basis)),
      scaled_x_(data_.x * hyperparameters.length_scales.cwiseInverse().asDiagonal()) {
  factorise();
}

Gp Gp::fit(GpData data, const GpOptions& options) {
  data = checked(std::move(data));
  check(options, data.x.cols());
  const FitResult best = fit_hyperparameters(data, options);
  Gp gp(std::move(data), best.hyperparameters, options);
  const double jitter = gp.summary_.jitter;
  gp.summary_ = best.summary;
  gp.summary_.jitter = jitter;
  gp.summary_.log_marginal_likelihood = gp.log_marginal_likelihood();
  return gp;
}

Gp Gp::with_hyperparameters(GpData data, const Hyperparameters& hyperparameters, const GpOptions& options) {
  data = checked(std::move(data));
  check(hyperparameters, data.x.cols());
  return {std::move(data), hyperparameters, options};
}

void Gp::factorise() {
  const double signal_variance = hyperparameters_.signal_sd * hyperparameters_.signal_sd;
  const double noise_variance = hyperparameters_.noise_sd * hyperparameters_.noise_sd;
  const Eigen::MatrixXd k = covariance(scaled_x_, scaled_x_);
  const double mean_variance = signal_variance + noise_variance * data_.noise_weights.mean();
  bool dependent = false;
  for (double relative = 0; relative >= 0; relative = next_jitter(relative)) {
    summary_.jitter = relative * mean_variance;
    factor_.chol = k;
    factor_.chol.diagonal().array() += noise_variance * data_.noise_weights.array() + summary_.jitter;
    if (!cholesky_in_place(&factor_.chol)) continue;
    if (solve()) return;
    dependent = true;
  }
  if (dependent) throw bad_input(kDependent);
  throw Error(ErrorKind::kFailed, "Gaussian process: the covariance of " + std::to_string(size()) +
                                      " points is not positive definite; raise the lower bound of the noise");
}

bool Gp::solve() {
  offset_ = subtract_mean_ ? data_.y.mean() : 0;
  const Eigen::VectorXd y = data_.y.array() - offset_;
  const Eigen::MatrixXd basis = data_.basis * basis_scale_.cwiseInverse().asDiagonal();
  if (!solve_gls(y, basis, &factor_)) return false;
  weights_ = factor_.alpha * (hyperparameters_.signal_sd * hyperparameters_.signal_sd);
  coefficients_ = factor_.beta.cwiseQuotient(basis_scale_);
  summary_.log_marginal_likelihood = log_marginal_likelihood();
  return true;
}

void Gp::add_point(const Eigen::VectorXd& x, double y, const Eigen::VectorXd& basis, double noise_weight) {
  check_query(x.transpose(), basis.transpose());
  if (!std::isfinite(y) || !std::isfinite(noise_weight) || noise_weight <= 0) {
    throw bad_input("Gaussian process: a new observation must be finite and its noise weight positive");
  }
  const Eigen::Index n = size();
  const Eigen::VectorXd scaled = x.cwiseQuotient(hyperparameters_.length_scales);
  Eigen::VectorXd row = covariance(scaled_x_, scaled.transpose());
  factor_.chol.triangularView<Eigen::Lower>().solveInPlace(row);
  const double signal_variance = hyperparameters_.signal_sd * hyperparameters_.signal_sd;
  const double noise_variance = hyperparameters_.noise_sd * hyperparameters_.noise_sd * noise_weight;
  const double variance = signal_variance + noise_variance + summary_.jitter;
  const double pivot = variance - row.squaredNorm();

  data_.x.conservativeResize(n + 1, Eigen::NoChange);
  data_.x.row(n) = x;
  data_.y.conservativeResize(n + 1);
  data_.y[n] = y;
  data_.basis.conservativeResize(n + 1, Eigen::NoChange);
  data_.basis.row(n) = basis;
  data_.noise_weights.conservativeResize(n + 1);
  data_.noise_weights[n] = noise_weight;
  scaled_x_.conservativeResize(n + 1, Eigen::NoChange);
  scaled_x_.row(n) = scaled;

  // The new point repeats what is known: only more jitter, and so a new factor, can take it in.
  if (!is_safe_pivot(pivot, variance, n + 1)) return factorise();
  factor_.chol.conservativeResize(n + 1, n + 1);
  factor_.chol.row(n).head(n) = row;
  factor_.chol(n, n) = std::sqrt(pivot);
  if (!solve()) throw bad_input(kDependent);
}

double Gp::log_marginal_likelihood() const {
  // The factor was made with scaled basis columns, whose determinant differs.
  return factor_.log_likelihood - basis_scale_.array().log().sum();
}

}  // namespace ampere

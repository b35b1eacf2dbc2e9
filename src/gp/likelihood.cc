#include "gp/likelihood.h"

#include <cmath>
#include <limits>
#include <utility>

namespace ampere {

Likelihood::Likelihood(const Eigen::MatrixXd& x, Eigen::VectorXd y, Eigen::VectorXd noise_weights,
                       KernelType kernel)
    : y_(std::move(y)), noise_weights_(std::move(noise_weights)), kernel_(kernel) {
  const Eigen::Index n = x.rows();
  const Eigen::Index pairs = n * (n - 1) / 2;
  squares_.resize(pairs, x.cols());
  for (Eigen::Index j = 0, first = 0; j < n; first += n - 1 - j, ++j) {
    const Eigen::Index below = n - 1 - j;
    squares_.middleRows(first, below) = (x.bottomRows(below).rowwise() - x.row(j)).array().square();
  }
  correlation_.resize(pairs);
  slope_.resize(pairs);
  factor_.chol.resize(n, n);
}

double Likelihood::evaluate(const Eigen::VectorXd& log_parameters, Eigen::VectorXd* gradient) {
  const Eigen::Index d = squares_.cols();
  const double signal_variance = std::exp(2 * log_parameters[0]);
  const double noise_variance = std::exp(2 * log_parameters[d + 1]);
  length_weights_ = (-2 * log_parameters.segment(1, d)).array().exp();
  if (gradient != nullptr) gradient->setZero(d + 2);

  correlation_.noalias() = squares_ * length_weights_;
  correlate(kernel_, static_cast<std::size_t>(correlation_.size()), correlation_.data(), correlation_.data(),
            gradient != nullptr ? slope_.data() : nullptr);
  const double mean_variance = signal_variance + noise_variance * noise_weights_.mean();
  for (double relative = 0; relative >= 0; relative = next_jitter(relative)) {
    const double jitter = relative * mean_variance;
    fill_covariance(signal_variance, noise_variance, jitter);
    if (!condition(y_, &factor_)) continue;
    if (gradient != nullptr) add_gradient(signal_variance, noise_variance, jitter, gradient);
    return factor_.log_likelihood;
  }
  return -std::numeric_limits<double>::infinity();
}

void Likelihood::fill_covariance(double signal_variance, double noise_variance, double jitter) {
  const Eigen::Index n = y_.size();
  const double* pair = correlation_.data();
  for (Eigen::Index j = 0; j < n; ++j) {
    factor_.chol(j, j) = signal_variance + noise_variance * noise_weights_[j] + jitter;
    const Eigen::Index below = n - 1 - j;
    factor_.chol.col(j).tail(below) = signal_variance * Eigen::Map<const Eigen::VectorXd>(pair, below);
    pair += below;
  }
}

// With W = alpha alpha^T - K^-1, the derivative along any parameter t is tr(W dK/dt) / 2 (Rasmussen &
// Williams 2006, eq. 5.9).
void Likelihood::add_gradient(double signal_variance, double noise_variance, double jitter,
                              Eigen::VectorXd* gradient) {
  const Eigen::Index n = y_.size();
  const Eigen::Index d = squares_.cols();
  const Eigen::VectorXd& alpha = factor_.alpha;
  Eigen::MatrixXd& inverse = factor_.chol;
  invert_lower_in_place(inverse);
  square_lower_in_place(inverse);

  // tr(W K) = alpha^T y - n, so the signal's share is what noise and jitter leave of it.
  const Eigen::ArrayXd diagonal = alpha.array().square() - inverse.diagonal().array();
  const double noise_trace = noise_variance * (diagonal * noise_weights_.array()).sum();
  const double whole = alpha.dot(y_) - static_cast<double>(n);
  (*gradient)[0] = whole - noise_trace - jitter * diagonal.sum();
  (*gradient)[d + 1] = noise_trace;

  double* pair = slope_.data();
  for (Eigen::Index j = 0; j < n; ++j) {
    const Eigen::Index below = n - 1 - j;
    Eigen::Map<Eigen::ArrayXd>(pair, below) *=
        alpha[j] * alpha.tail(below).array() - inverse.col(j).tail(below).array();
    pair += below;
  }
  // Each pair stands for two entries, which cancels the 1/2; d(r2)/d(log l) = -2 squares / l^2.
  gradient->segment(1, d).noalias() = squares_.transpose() * slope_;
  gradient->segment(1, d).array() *= -2 * signal_variance * length_weights_.array();
}

}  // namespace ampere

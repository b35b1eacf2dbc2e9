#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "gp/gp.h"

namespace ampere {
namespace {

// Observations per step of mean_at, on the stack.
constexpr Eigen::Index kStep = 64;
constexpr Eigen::Index kTogether = 64;

}  // namespace

void Gp::check_query(const Eigen::MatrixXd& x) const {
  if (x.cols() != dimensions()) {
    throw bad_input("Gaussian process: the query has " + std::to_string(x.cols()) + " dimensions, the data " +
                    std::to_string(dimensions()));
  }
  if (!x.allFinite()) throw bad_input("Gaussian process: a query is not finite");
}

Eigen::MatrixXd Gp::scaled(const Eigen::MatrixXd& x) const {
  return x * hyperparameters_.length_scales.cwiseInverse().asDiagonal();
}

double Gp::mean_at(const double* x) const {
  const Eigen::Index n = size();
  double mean = offset_;
  alignas(64) std::array<double, kStep> buffer;
  for (Eigen::Index first = 0; first < n; first += kStep) {
    const Eigen::Index count = std::min(kStep, n - first);
    Eigen::Map<Eigen::ArrayXd> k(buffer.data(), count);
    k.setZero();
    for (Eigen::Index j = 0; j < dimensions(); ++j) {
      k += (scaled_x_.col(j).segment(first, count).array() - x[j] / hyperparameters_.length_scales[j])
               .square();
    }
    correlate(kernel_, static_cast<std::size_t>(count), buffer.data(), buffer.data(), nullptr);
    mean += (k * weights_.segment(first, count).array()).sum();
  }
  return mean;
}

Eigen::MatrixXd Gp::covariance(const Eigen::MatrixXd& scaled_rows,
                               const Eigen::MatrixXd& scaled_columns) const {
  Eigen::MatrixXd k = Eigen::MatrixXd::Zero(scaled_rows.rows(), scaled_columns.rows());
  for (Eigen::Index i = 0; i < k.cols(); ++i) {
    for (Eigen::Index j = 0; j < dimensions(); ++j) {
      k.col(i).array() += (scaled_rows.col(j).array() - scaled_columns(i, j)).square();
    }
  }
  correlate(kernel_, static_cast<std::size_t>(k.size()), k.data(), k.data(), nullptr);
  k *= hyperparameters_.signal_sd * hyperparameters_.signal_sd;
  return k;
}

// Rasmussen & Williams 2006, eq. 2.25 and 2.26; some points at a time, since there may be thousands.
GpPrediction Gp::predict(const Eigen::MatrixXd& x) const {
  check_query(x);
  const Eigen::MatrixXd points = scaled(x);
  GpPrediction prediction{Eigen::VectorXd(x.rows()), Eigen::VectorXd(x.rows())};
  for (Eigen::Index first = 0; first < x.rows(); first += kTogether) {
    const Eigen::Index m = std::min(kTogether, x.rows() - first);
    Eigen::MatrixXd block = covariance(scaled_x_, points.middleRows(first, m));
    prediction.mean.segment(first, m) = (block.transpose() * factor_.alpha).array() + offset_;
    factor_.chol.triangularView<Eigen::Lower>().solveInPlace(block);
    prediction.variance.segment(first, m) = block.colwise().squaredNorm();
  }
  const double signal_variance = hyperparameters_.signal_sd * hyperparameters_.signal_sd;
  prediction.variance = (signal_variance - prediction.variance.array()).max(0);
  return prediction;
}

GpJointPrediction Gp::joint(const Eigen::MatrixXd& x) const {
  check_query(x);
  const Eigen::MatrixXd points = scaled(x);
  Eigen::MatrixXd block = covariance(scaled_x_, points);
  GpJointPrediction prediction{block.transpose() * factor_.alpha, covariance(points, points)};
  prediction.mean.array() += offset_;
  factor_.chol.triangularView<Eigen::Lower>().solveInPlace(block);
  prediction.covariance.selfadjointView<Eigen::Lower>().rankUpdate(block.transpose(), -1);
  prediction.covariance.triangularView<Eigen::StrictlyUpper>() = prediction.covariance.transpose();
  prediction.covariance.diagonal() = prediction.covariance.diagonal().cwiseMax(0);
  return prediction;
}

}  // namespace ampere

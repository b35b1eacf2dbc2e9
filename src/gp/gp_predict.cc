#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "gp/gp.h"

namespace ampere {
namespace {

// Observations per step of mean_at, on the stack.
constexpr Eigen::Index kStep = 64;

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

// Rasmussen & Williams 2006, eq. 2.25 and 2.26. Works through a few query points at a time, one per lane, so
// that everything about them stays in the nearest cache.
GpPrediction Gp::predict(const Eigen::MatrixXd& x) const {
  check_query(x);
  constexpr Eigen::Index kLanes = Whitener::kLanes;
  const double signal_variance = hyperparameters_.signal_sd * hyperparameters_.signal_sd;
  const Whitener whitener(factor_.chol);
  Whitener::Lanes lanes = Whitener::Lanes::Zero(kLanes, whitener.padded_size());
  auto used = lanes.leftCols(size());  // covariances with the observations, then whitened ones
  Eigen::ArrayXXd points(kLanes, dimensions());
  GpPrediction prediction{Eigen::VectorXd(x.rows()), Eigen::VectorXd(x.rows())};
  for (Eigen::Index first = 0; first < x.rows(); first += kLanes) {
    const Eigen::Index m = std::min(kLanes, x.rows() - first);
    for (Eigen::Index i = 0; i < kLanes; ++i) {
      const Eigen::Index row = first + std::min(i, m - 1);  // spare lanes repeat the last point
      points.row(i) = x.row(row).array() / hyperparameters_.length_scales.transpose().array();
    }
    fill_lanes(points, &lanes);
    const Eigen::Matrix<double, kLanes, 1> mean = used * factor_.alpha;
    whitener.apply(&lanes);
    const Eigen::Array<double, kLanes, 1> variance = signal_variance - used.rowwise().squaredNorm().array();
    prediction.mean.segment(first, m) = mean.head(m).array() + offset_;
    prediction.variance.segment(first, m) = variance.head(m).max(0);
  }
  return prediction;
}

void Gp::fill_lanes(const Eigen::ArrayXXd& points, Whitener::Lanes* lanes) const {
  Eigen::Array<double, Whitener::kLanes, 1> r2;
  for (Eigen::Index i = 0; i < size(); ++i) {
    r2.setZero();
    for (Eigen::Index j = 0; j < dimensions(); ++j) {
      r2 += (points.col(j).head<Whitener::kLanes>() - scaled_x_(i, j)).square();
    }
    lanes->col(i) = r2;
  }
  auto used = lanes->leftCols(size());
  correlate(kernel_, static_cast<std::size_t>(used.size()), used.data(), used.data(), nullptr);
  used *= hyperparameters_.signal_sd * hyperparameters_.signal_sd;
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

// Rasmussen & Williams 2006, section 5.4.2.
Eigen::VectorXd Gp::leave_one_out() const {
  Eigen::MatrixXd whitened = Eigen::MatrixXd::Identity(size(), size());
  factor_.chol.triangularView<Eigen::Lower>().solveInPlace(whitened);
  return factor_.alpha.array() / whitened.colwise().squaredNorm().transpose().array().sqrt();
}

}  // namespace ampere

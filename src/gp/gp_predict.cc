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

void Gp::check_query(const Eigen::MatrixXd& x, const Eigen::MatrixXd& basis) const {
  if (x.cols() != dimensions()) {
    throw bad_input("Gaussian process: the query has " + std::to_string(x.cols()) + " dimensions, the data " +
                    std::to_string(dimensions()));
  }
  if (basis.cols() != basis_size() || (basis_size() > 0 && basis.rows() != x.rows())) {
    throw bad_input("Gaussian process: the query needs " + std::to_string(x.rows()) + " x " +
                    std::to_string(basis_size()) + " basis values");
  }
  if (!x.allFinite() || !basis.allFinite()) throw bad_input("Gaussian process: a query is not finite");
}

double Gp::mean_at(const double* x, const double* basis) const {
  const Eigen::Index n = size();
  const Eigen::Index d = dimensions();
  double mean = offset_;
  for (Eigen::Index j = 0; j < coefficients_.size(); ++j) mean += basis[j] * coefficients_[j];
  alignas(64) std::array<double, kStep> buffer;
  for (Eigen::Index first = 0; first < n; first += kStep) {
    const Eigen::Index count = std::min(kStep, n - first);
    Eigen::Map<Eigen::ArrayXd> k(buffer.data(), count);
    k.setZero();
    for (Eigen::Index j = 0; j < d; ++j) {
      k += (scaled_x_.col(j).segment(first, count).array() - x[j] / hyperparameters_.length_scales[j])
               .square();
    }
    correlate(kernel_, static_cast<std::size_t>(count), buffer.data(), buffer.data(), nullptr);
    mean += (k * weights_.segment(first, count).array()).sum();
  }
  return mean;
}

Eigen::VectorXd Gp::mean(const Eigen::MatrixXd& x, const Eigen::MatrixXd& basis) const {
  check_query(x, basis);
  Eigen::VectorXd point(dimensions());
  Eigen::VectorXd row(basis_size());
  Eigen::VectorXd means(x.rows());
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    point = x.row(i);
    if (basis_size() > 0) row = basis.row(i);
    means[i] = mean_at(point.data(), row.data());
  }
  return means;
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

Eigen::MatrixXd Gp::basis_excess(const Eigen::MatrixXd& whitened, const Eigen::MatrixXd& basis) const {
  Eigen::MatrixXd excess = basis_scale_.cwiseInverse().asDiagonal() * basis.transpose();
  excess.noalias() -= factor_.basis.transpose() * whitened;
  factor_.basis_chol.triangularView<Eigen::Lower>().solveInPlace(excess);
  return excess;
}

// Rasmussen & Williams 2006, eq. 2.25 and 2.26, and 2.42 for the basis. Works through a few query points at a
// time, one per lane, so that everything about them stays in the nearest cache.
GpPrediction Gp::predict(const Eigen::MatrixXd& x, const Eigen::MatrixXd& basis) const {
  check_query(x, basis);
  constexpr Eigen::Index kLanes = Whitener::kLanes;
  const double signal_variance = hyperparameters_.signal_sd * hyperparameters_.signal_sd;
  const Whitener whitener(factor_.chol);
  Whitener::Lanes lanes = Whitener::Lanes::Zero(kLanes, whitener.padded_size());
  auto used = lanes.leftCols(size());  // covariances with the observations, then whitened ones
  Eigen::ArrayXXd points(kLanes, dimensions());
  Eigen::MatrixXd point_basis(kLanes, basis_size());
  GpPrediction prediction{Eigen::VectorXd(x.rows()), Eigen::VectorXd(x.rows())};
  for (Eigen::Index first = 0; first < x.rows(); first += kLanes) {
    const Eigen::Index m = std::min(kLanes, x.rows() - first);
    for (Eigen::Index i = 0; i < kLanes; ++i) {
      const Eigen::Index row = first + std::min(i, m - 1);  // spare lanes repeat the last point
      points.row(i) = x.row(row).array() / hyperparameters_.length_scales.transpose().array();
      if (basis_size() > 0) point_basis.row(i) = basis.row(row);
    }
    fill_lanes(points, &lanes);
    Eigen::Matrix<double, kLanes, 1> mean = used * factor_.alpha;
    mean.array() += offset_;
    whitener.apply(&lanes);
    Eigen::Array<double, kLanes, 1> variance = signal_variance - used.rowwise().squaredNorm().array();
    if (basis_size() > 0) {
      mean += point_basis * coefficients_;
      variance += basis_excess(used.transpose(), point_basis).colwise().squaredNorm().transpose().array();
    }
    prediction.mean.segment(first, m) = mean.head(m);
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

GpJointPrediction Gp::joint(const Eigen::MatrixXd& x, const Eigen::MatrixXd& basis) const {
  check_query(x, basis);
  const Eigen::MatrixXd scaled = x * hyperparameters_.length_scales.cwiseInverse().asDiagonal();
  Eigen::MatrixXd block = covariance(scaled_x_, scaled);
  GpJointPrediction prediction{block.transpose() * factor_.alpha, covariance(scaled, scaled)};
  prediction.mean.array() += offset_;
  if (basis_size() > 0) prediction.mean += basis * coefficients_;
  factor_.chol.triangularView<Eigen::Lower>().solveInPlace(block);
  auto lower = prediction.covariance.selfadjointView<Eigen::Lower>();
  lower.rankUpdate(block.transpose(), -1);
  if (basis_size() > 0) lower.rankUpdate(basis_excess(block, basis).transpose(), 1);
  prediction.covariance.triangularView<Eigen::StrictlyUpper>() = prediction.covariance.transpose();
  prediction.covariance.diagonal() = prediction.covariance.diagonal().cwiseMax(0);
  return prediction;
}

}  // namespace ampere

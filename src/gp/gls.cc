#include "gp/gls.h"

#include <cmath>
#include <numbers>

#include "gp/cholesky.h"

namespace ampere {

bool solve_gls(const Eigen::VectorXd& y, const Eigen::MatrixXd& basis, GlsFactor* factor) {
  const auto lower = factor->chol.triangularView<Eigen::Lower>();
  const auto log_determinant = [](const Eigen::MatrixXd& chol) {
    return 2 * chol.diagonal().array().log().sum();
  };
  const double n = static_cast<double>(y.size());
  const double p = static_cast<double>(basis.cols());

  factor->alpha = y;
  lower.solveInPlace(factor->alpha);  // for now L^-1 y
  double log_determinants = log_determinant(factor->chol);
  factor->basis = basis;
  factor->beta.resize(basis.cols());
  factor->basis_chol.resize(basis.cols(), basis.cols());
  if (basis.cols() > 0) {
    lower.solveInPlace(factor->basis);
    factor->basis_chol.noalias() = factor->basis.transpose() * factor->basis;
    if (!cholesky_in_place(&factor->basis_chol)) return false;
    const auto basis_lower = factor->basis_chol.triangularView<Eigen::Lower>();
    factor->beta.noalias() = factor->basis.transpose() * factor->alpha;
    basis_lower.solveInPlace(factor->beta);
    factor->basis_chol.transpose().triangularView<Eigen::Upper>().solveInPlace(factor->beta);
    factor->alpha.noalias() -= factor->basis * factor->beta;
    log_determinants += log_determinant(factor->basis_chol);
  }
  const double squares = factor->alpha.squaredNorm();
  factor->chol.transpose().triangularView<Eigen::Upper>().solveInPlace(factor->alpha);
  factor->log_likelihood = -0.5 * (squares + log_determinants + (n - p) * std::log(2 * std::numbers::pi));
  return true;
}

}  // namespace ampere

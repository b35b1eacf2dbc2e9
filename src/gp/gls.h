// Generalised least squares: y = basis * beta + e, e ~ N(0, K), beta with a flat prior.
#pragma once

#include <Eigen/Core>

namespace ampere {

// Everything that conditioning on n observations needs, from the Cholesky factor of their covariance.
struct GlsFactor {
  Eigen::MatrixXd chol;        // n x n, L in the lower half, K = L L^T; the upper half is anything
  Eigen::MatrixXd basis;       // n x p, G = L^-1 basis
  Eigen::MatrixXd basis_chol;  // p x p, lower Cholesky factor of A = G^T G
  Eigen::VectorXd beta;        // p, A^-1 G^T L^-1 y
  Eigen::VectorXd alpha;       // n, K^-1 (y - basis * beta)
  double log_likelihood = 0;   // log density of y with beta integrated out (Rasmussen & Williams, eq. 2.45)
};

// Fills all but `chol`, which must hold L. False when A is not positive definite to working precision.
bool solve_gls(const Eigen::VectorXd& y, const Eigen::MatrixXd& basis, GlsFactor* factor);

}  // namespace ampere

// Dense symmetric positive definite matrices, in place and in the lower half only.
#pragma once

#include <Eigen/Core>

namespace ampere {

// Whether the square of a pivot is more than rounding: n is the size, `largest` the largest diagonal entry.
bool is_safe_pivot(double pivot_squared, double largest, Eigen::Index n);

// Overwrites the lower half of `a` with its Cholesky factor. False when a pivot is not safely positive:
// below what rounding alone can produce. `a` is then spoiled.
bool cholesky_in_place(Eigen::MatrixXd* a);

// Overwrites the lower half of a Cholesky factor L with that of L^-1.
void invert_lower_in_place(Eigen::Ref<Eigen::MatrixXd> l);

// Overwrites the lower half of M (lower triangular) with that of M^T M. With M = L^-1 this is K^-1.
void square_lower_in_place(Eigen::Ref<Eigen::MatrixXd> m);

// Everything that conditioning on n observations needs.
struct Conditioning {
  Eigen::MatrixXd chol;       // n x n, L in the lower half, with L L^T the covariance; the rest is anything
  Eigen::VectorXd alpha;      // n, the covariance's inverse times y
  double log_likelihood = 0;  // log density of y
};

// Fills all from `chol`, which must hold the covariance in its lower half. False where cholesky_in_place()
// is.
bool condition(const Eigen::VectorXd& y, Conditioning* conditioning);

// The diagonal additions to try in turn, relative to the mean of the diagonal: 0, then 1e-12 growing tenfold.
// Negative after the last.
double next_jitter(double jitter);

}  // namespace ampere

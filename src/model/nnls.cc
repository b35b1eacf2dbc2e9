#include "model/nnls.h"

#include <Eigen/Dense>
#include <limits>

namespace ampere {

Eigen::VectorXd nonnegative_least_squares(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
  const int columns = static_cast<int>(a.cols());
  Eigen::VectorXd best = Eigen::VectorXd::Zero(columns);
  double best_norm = b.squaredNorm();
  // With so few columns, trying all subsets is simpler than an active-set method and as fast.
  for (unsigned chosen = 1; chosen < (1u << columns); ++chosen) {
    Eigen::MatrixXd part(a.rows(), 0);
    for (int c = 0; c < columns; ++c) {
      if (!(chosen >> c & 1)) continue;
      part.conservativeResize(Eigen::NoChange, part.cols() + 1);
      part.col(part.cols() - 1) = a.col(c);
    }
    const Eigen::VectorXd solution = part.completeOrthogonalDecomposition().solve(b);
    if (!(solution.minCoeff() >= 0)) continue;
    const double norm = (part * solution - b).squaredNorm();
    if (!(norm < best_norm)) continue;
    best_norm = norm;
    best.setZero();
    Eigen::Index next = 0;
    for (int c = 0; c < columns; ++c) {
      if (chosen >> c & 1) best(c) = solution(next++);
    }
  }
  return best;
}

}  // namespace ampere

#include "gp/gp.h"

namespace ampere {

// Rasmussen & Williams 2006, section 5.4.2.
Eigen::VectorXd Gp::leave_one_out() const {
  const Eigen::Index n = size();
  Eigen::MatrixXd whitened = Eigen::MatrixXd::Identity(n, n);
  factor_.chol.triangularView<Eigen::Lower>().solveInPlace(whitened);
  return factor_.alpha.array() / whitened.colwise().squaredNorm().transpose().array().sqrt();
}

}  // namespace ampere

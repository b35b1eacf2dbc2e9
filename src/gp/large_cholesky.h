// The Cholesky factor of thousands of rows, for processes that are factored again with some of them changed.
#pragma once

#include <Eigen/Core>

namespace ampere {

// As cholesky_in_place() (gp/cholesky.h), for matrices whose first `done` rows and columns hold their factor
// already; what the rows below hold in those columns is still of the matrix. The last digits depend on the
// machine: where it can, it multiplies and adds in one step.
bool continue_cholesky(Eigen::MatrixXd* a, Eigen::Index done);

// Replaces each column b by x with L x = b, where L is the lower half of `factor`. As fast as the above, and
// with the same word about digits.
void solve_lower(const Eigen::MatrixXd& factor, Eigen::Ref<Eigen::MatrixXd> columns);

}  // namespace ampere

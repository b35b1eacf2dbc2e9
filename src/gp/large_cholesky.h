// The Cholesky factor of thousands of rows, for processes that are factored again with some of them changed.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace ampere {

// As cholesky_in_place() (gp/cholesky.h), for matrices whose first `done` rows and columns hold their factor
// already; what the rows below hold in those columns is still of the matrix. The last digits depend on the
// machine: where it can, it multiplies and adds in one step.
bool continue_cholesky(Eigen::MatrixXd* a, Eigen::Index done);

// A factor that is solved with time and again, in the order in which that reads it, and so in half the
// memory.
class PackedFactor {
 public:
  PackedFactor() = default;
  // Of the lower half.
  explicit PackedFactor(const Eigen::MatrixXd& factor);

  // Replaces each column b by x with L x = b. As fast as the above, and with the same word about digits.
  void solve(Eigen::Ref<Eigen::MatrixXd> columns) const;

 private:
  struct Panel {
    Eigen::MatrixXd corner;
    std::vector<double> below;  // in strips of rows
  };
  std::vector<Panel> panels_;
};

}  // namespace ampere

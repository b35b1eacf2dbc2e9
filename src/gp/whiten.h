// Forward substitution v = L^-1 k for a few right-hand sides at a time, fast.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace ampere {

// A lower triangular matrix L, copied into the order in which whitening reads it.
class Whitener {
 public:
  static constexpr int kLanes = 8;  // right-hand sides at a time
  using Lanes = Eigen::Matrix<double, kLanes, Eigen::Dynamic>;

  // Reads the lower half of `lower` (n x n, no zero on the diagonal).
  explicit Whitener(const Eigen::MatrixXd& lower);

  // Columns that `lanes` must have: n rounded up. Those beyond n must be zero and stay so.
  Eigen::Index padded_size() const { return padded_size_; }

  // Replaces each row k^T of `lanes` by v^T with L v = k.
  void apply(Lanes* lanes) const;

 private:
  Eigen::Index padded_size_;
  std::vector<double> panels_;
};

}  // namespace ampere

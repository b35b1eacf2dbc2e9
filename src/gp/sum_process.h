// A Gaussian process that is seen through sums: what is measured is the logarithm of a weighted sum of
// exponentials of its values. A layer takes as long as its calls together, and each call's logarithm is a
// value of the process.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "gp/large_cholesky.h"

namespace ampere {

struct SumTerm {
  int point = 0;  // among those of the process, or of the query
  double weight = 0;
};

// One sum that was measured.
struct SeenSum {
  std::vector<SumTerm> terms;
  double log_value = 0;
  double error = 0.01;  // standard deviation of log_value
};

// One sum that is asked for. `seen`: the measured sum that is the very same, or -1.
struct AskedSum {
  std::vector<SumTerm> terms;
  int seen = -1;
};

// Logarithms of the sums, with what is known of them.
struct SumPrediction {
  Eigen::VectorXd log_mean;
  Eigen::MatrixXd log_covariance;
  std::vector<Eigen::VectorXd> shares;  // of each sum's terms
  Eigen::VectorXd values;               // that are expected of the points themselves
};

class SumProcess {
 public:
  // `covariance` and `mean` are the prior of the points. Each sum has a part of its own that its points do
  // not tell, with this standard deviation: what was measured counts for itself. Throws Error{kFailed} when
  // the covariance is not positive definite.
  SumProcess(const Eigen::MatrixXd& covariance, Eigen::VectorXd mean, std::vector<SeenSum> seen, double own);

  // `cross`: prior covariance of the points asked for (rows) with those of the process; `covariance` and
  // `mean` their own prior. Without `covariance`, which costs the most by far, how sure it is stays empty.
  SumPrediction means(const std::vector<AskedSum>& sums, const Eigen::MatrixXd& cross,
                      const Eigen::VectorXd& mean) const;
  SumPrediction at(const std::vector<AskedSum>& sums, const Eigen::MatrixXd& cross,
                   const Eigen::MatrixXd& covariance, const Eigen::VectorXd& mean) const;
  // Of the process's own points.
  const Eigen::VectorXd& values() const { return values_; }

 private:
  std::vector<std::vector<SumTerm>> shares_;  // of what was measured; single terms come first
  double own_;
  PackedFactor factor_;  // Cholesky, of the measured sums' covariance
  Eigen::VectorXd solved_;
  Eigen::VectorXd behind_;  // by which points are covariant with what was measured
  Eigen::VectorXd values_;
  std::vector<int> rows_;  // of sums as they were given
};

}  // namespace ampere

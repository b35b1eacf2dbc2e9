// Which kernels ran, as inputs of a process. The framework picks other kernels at other channels, and what a
// layer takes is smooth only among places that run the same ones (docs/accuracy.md).
#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <vector>

namespace ampere {

using Kernels = std::vector<std::string>;  // names, each once

// One column for each kernel that was ever seen, 1 where it runs and 0 where not, so that the squared
// distance of two places is the number of kernels that run at one of them alone. A last column stands for all
// kernels that were never seen, which cannot be told apart.
class KernelMarks {
 public:
  explicit KernelMarks(const std::vector<Kernels>& seen);

  Eigen::Index columns() const { return static_cast<Eigen::Index>(column_.size()) + 1; }
  Eigen::MatrixXd operator()(const std::vector<Kernels>& places) const;

 private:
  std::map<std::string, Eigen::Index> column_;
};

}  // namespace ampere

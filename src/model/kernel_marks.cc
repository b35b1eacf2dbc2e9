#include "model/kernel_marks.h"

#include <cmath>

namespace ampere {

KernelMarks::KernelMarks(const std::vector<Kernels>& seen) {
  for (const Kernels& kernels : seen) {
    for (const std::string& name : kernels) column_.try_emplace(name, column_.size());
  }
}

Eigen::MatrixXd KernelMarks::operator()(const std::vector<Kernels>& places) const {
  Eigen::MatrixXd marks = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(places.size()), columns());
  for (Eigen::Index i = 0; i < marks.rows(); ++i) {
    int unknown = 0;
    for (const std::string& name : places[static_cast<std::size_t>(i)]) {
      const auto known = column_.find(name);
      if (known == column_.end())
        ++unknown;
      else
        marks(i, known->second) = 1;
    }
    marks(i, columns() - 1) = std::sqrt(unknown);
  }
  return marks;
}

}  // namespace ampere

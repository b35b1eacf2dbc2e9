// How sure a data sheet is of what it tells, and how the first measurements make it surer.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace ampere {

// A question about works, as far as it decides how sure a sheet is.
struct AskedOfSheet {
  bool measured = false;  // this very work was
  bool described = true;  // all its calls are of known families
};

// What a process whose roof is a sheet's says of its errors, made honest: one work is told at least as well
// as recorded works of other devices were, and all of a device are off together by what sheets do not tell,
// until `measured` works have told it. Covariances are of logarithms.
Eigen::MatrixXd time_belief(Eigen::MatrixXd covariance, const std::vector<AskedOfSheet>& asked,
                            std::size_t measured);
Eigen::MatrixXd energy_belief(Eigen::MatrixXd covariance, const std::vector<AskedOfSheet>& asked,
                              std::size_t measured);

}  // namespace ampere

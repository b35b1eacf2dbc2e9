#include "model/sheet_belief.h"

#include <algorithm>
#include <cmath>

namespace ampere {
namespace {

// Standard deviations of logarithms. Of one work: recorded parts of an H200 against its sheet. Of a device:
// four GPUs against what the other three and the sheets say (results/zeus.md; a device's own factor, and one
// for each of its workloads).
struct Deviations {
  double work, device;
};
constexpr Deviations kTime{0.55, 0.4};
constexpr Deviations kEnergy{0.45, 0.4};

Eigen::MatrixXd belief(Eigen::MatrixXd covariance, const std::vector<AskedOfSheet>& asked,
                       std::size_t measured, const Deviations& believed) {
  const Eigen::Index count = covariance.rows();
  Eigen::VectorXd narrower(count), together(count);
  // How well so many works, each off by itself, tell what they have in common.
  const double left = 1 / std::sqrt(1 / (believed.device * believed.device) +
                                    static_cast<double>(measured) / (believed.work * believed.work));
  for (Eigen::Index i = 0; i < count; ++i) {
    const AskedOfSheet& one = asked[static_cast<std::size_t>(i)];
    const double deviation = std::sqrt(std::max(covariance(i, i), 0.0));
    narrower(i) = one.described && deviation > believed.work ? believed.work / deviation : 1;
    together(i) = one.measured ? 0 : left;
  }
  covariance = narrower.asDiagonal() * covariance * narrower.asDiagonal();
  covariance += together * together.transpose();
  // Sums are added up by relative errors, of which a wide log-normal one has more than its logarithm.
  return covariance.array().expm1();
}

}  // namespace

Eigen::MatrixXd time_belief(Eigen::MatrixXd covariance, const std::vector<AskedOfSheet>& asked,
                            std::size_t measured) {
  return belief(std::move(covariance), asked, measured, kTime);
}

Eigen::MatrixXd energy_belief(Eigen::MatrixXd covariance, const std::vector<AskedOfSheet>& asked,
                              std::size_t measured) {
  return belief(std::move(covariance), asked, measured, kEnergy);
}

}  // namespace ampere

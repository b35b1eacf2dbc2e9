#include "gp/gp_data.h"

#include <cmath>
#include <string>

#include "base/error.h"

namespace ampere {
namespace {

// A spread below this part of the values' size is rounding.
constexpr double kNoSpread = 1e-9;

void require(bool condition, const std::string& message) {
  if (!condition) throw bad_input("Gaussian process: " + message);
}

}  // namespace

GpData checked(GpData data) {
  const Eigen::Index n = data.x.rows();
  require(n > 0 && data.x.cols() > 0, "needs at least one point of at least one dimension");
  if (data.noise_weights.size() == 0) data.noise_weights = Eigen::VectorXd::Ones(n);
  require(data.y.size() == n && data.noise_weights.size() == n,
          std::to_string(n) + " inputs but " + std::to_string(data.y.size()) + " observations and " +
              std::to_string(data.noise_weights.size()) + " noise weights");
  require(data.x.allFinite(), "an input is not finite");
  require(data.y.allFinite(), "an observation is not finite");
  require(data.noise_weights.allFinite() && data.noise_weights.minCoeff() > 0,
          "noise weights must be positive and finite");
  return data;
}

double typical_spread(const GpData& data) {
  const double size = data.y.norm() / std::sqrt(static_cast<double>(data.y.size()));
  const double spread = std::sqrt((data.y.array() - data.y.mean()).square().mean());
  if (spread > kNoSpread * size) return spread;
  return size > 0 ? size : 1;
}

}  // namespace ampere

#include "gp/gp_data.h"

#include <Eigen/QR>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"

namespace ampere {
namespace {

// Basis columns closer than this to being dependent, relative to their size, are dependent.
constexpr double kRankThreshold = 1e-10;
// A spread below this part of the values' size is rounding.
constexpr double kNoSpread = 1e-9;

void require(bool condition, const std::string& message) {
  if (!condition) throw bad_input("Gaussian process: " + message);
}

void check(const Bounds& bounds, const char* name) {
  require(bounds.lower > 0 && bounds.lower <= bounds.upper && std::isfinite(bounds.upper),
          std::string("the bounds of the ") + name + " must be positive, finite and in order");
}

void check(const std::optional<LogPrior>& prior, const char* name) {
  if (!prior) return;
  require(
      prior->median > 0 && prior->log_sd > 0 && std::isfinite(prior->median) && std::isfinite(prior->log_sd),
      std::string("the prior of the ") + name + " needs a positive median and a positive log_sd");
}

Eigen::MatrixXd scaled(const Eigen::MatrixXd& columns) {
  return columns * column_scales(columns).cwiseInverse().asDiagonal();
}

}  // namespace

GpData checked(GpData data) {
  const Eigen::Index n = data.x.rows();
  const auto count = [](Eigen::Index size) { return std::to_string(size); };
  require(n > 0 && data.x.cols() > 0, "needs at least one point of at least one dimension");
  require(data.y.size() == n, count(n) + " inputs but " + count(data.y.size()) + " observations");
  if (data.basis.cols() == 0) data.basis.resize(n, 0);
  require(data.basis.rows() == n, count(n) + " inputs but " + count(data.basis.rows()) + " basis rows");
  if (data.noise_weights.size() == 0) data.noise_weights = Eigen::VectorXd::Ones(n);
  require(data.noise_weights.size() == n,
          count(n) + " inputs but " + count(data.noise_weights.size()) + " noise weights");
  require(data.x.allFinite(), "an input is not finite");
  require(data.y.allFinite(), "an observation is not finite");
  require(data.basis.allFinite(), "a basis value is not finite");
  require(data.noise_weights.allFinite() && data.noise_weights.minCoeff() > 0,
          "noise weights must be positive and finite");
  if (data.basis.cols() > 0) {
    require(n >= data.basis.cols(), count(n) + " points cannot determine " + count(data.basis.cols()) +
                                        " basis coefficients; add points or drop columns");
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr;
    qr.setThreshold(kRankThreshold);
    qr.compute(scaled(data.basis));
    require(qr.rank() == data.basis.cols(),
            "the basis columns depend on each other at these points; add points or drop columns");
  }
  return data;
}

void check(const Hyperparameters& hyperparameters, Eigen::Index dimensions) {
  const Eigen::VectorXd& lengths = hyperparameters.length_scales;
  require(lengths.size() == dimensions, std::to_string(dimensions) + " input dimensions but " +
                                            std::to_string(lengths.size()) + " length-scales");
  require(lengths.allFinite() && lengths.minCoeff() > 0, "length-scales must be positive and finite");
  require(std::isfinite(hyperparameters.signal_sd) && hyperparameters.signal_sd > 0,
          "the signal's standard deviation must be positive and finite");
  require(std::isfinite(hyperparameters.noise_sd) && hyperparameters.noise_sd >= 0,
          "the noise's standard deviation must be finite and not negative");
}

void check(const GpOptions& options, Eigen::Index dimensions) {
  require(options.restarts >= 0, "the number of restarts cannot be negative");
  require(options.evaluations > 0, "needs at least one likelihood evaluation per start");
  check(options.signal_bounds, "signal");
  check(options.length_bounds, "length-scales");
  check(options.noise_bounds, "noise");
  check(options.length_prior, "length-scales");
  if (options.start) check(*options.start, dimensions);
  if (options.input_ranges.size() == 0) return;
  require(options.input_ranges.size() == dimensions, "needs one input range per dimension, or none");
  require(options.input_ranges.allFinite() && options.input_ranges.minCoeff() > 0,
          "input ranges must be positive and finite");
}

Eigen::VectorXd column_scales(const Eigen::MatrixXd& columns) {
  if (columns.size() == 0) return Eigen::VectorXd::Ones(columns.cols());
  const double rows = static_cast<double>(columns.rows());
  return (columns.colwise().norm() / std::sqrt(rows)).unaryExpr([](double v) { return v > 0 ? v : 1; });
}

double typical_spread(const GpData& data) {
  const double n = static_cast<double>(data.y.size());
  const double size = data.y.norm() / std::sqrt(n);
  double spread = std::sqrt((data.y.array() - data.y.mean()).square().mean());
  if (data.basis.cols() > 0 && data.basis.rows() > data.basis.cols()) {
    const Eigen::MatrixXd basis = scaled(data.basis);
    const Eigen::VectorXd beta = basis.colPivHouseholderQr().solve(data.y);
    spread = std::sqrt((data.y - basis * beta).squaredNorm() / (n - static_cast<double>(basis.cols())));
  }
  if (spread > kNoSpread * size) return spread;
  return size > 0 ? size : 1;
}

Eigen::VectorXd input_ranges(const GpData& data, const GpOptions& options) {
  if (options.input_ranges.size() > 0) return options.input_ranges;
  const Eigen::VectorXd ranges = data.x.colwise().maxCoeff() - data.x.colwise().minCoeff();
  return ranges.unaryExpr([](double range) { return range > 0 ? range : 1; });
}

}  // namespace ampere

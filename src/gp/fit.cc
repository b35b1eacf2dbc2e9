#include "gp/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "gp/gp_data.h"
#include "gp/likelihood.h"
#include "gp/optimise.h"

namespace ampere {
namespace {

// A start ends when a step gains less than this in log likelihood, or after so many evaluations of it.
constexpr double kTolerance = 1e-7;
constexpr int kEvaluations = 200;
// In the relative units of GpOptions.
constexpr Bounds kLengthBounds{1e-2, 1e2};
constexpr Bounds kNoiseBounds{1e-4, 1e1};

// Where the first start begins and the others are drawn from, in relative units. Narrower than the bounds:
// near those the likelihood is flat and a start is wasted.
constexpr double kFirstSignal = 1;
constexpr double kFirstLength = 0.5;
constexpr double kFirstNoise = 0.1;
constexpr Bounds kDrawSignal{0.3, 3};
constexpr Bounds kDrawLength{0.02, 50};
constexpr Bounds kDrawNoise{0.01, 0.5};
constexpr unsigned kSeed = 1;

// The relative units of length-scales.
Eigen::VectorXd input_ranges(const Eigen::MatrixXd& x) {
  const Eigen::VectorXd ranges = x.colwise().maxCoeff() - x.colwise().minCoeff();
  return ranges.unaryExpr([](double range) { return range > 0 ? range : 1; });
}

// The parameter order of Likelihood: signal, length-scales, noise.
Eigen::VectorXd in_order(double signal, const Eigen::VectorXd& lengths, double noise) {
  Eigen::VectorXd parameters(lengths.size() + 2);
  parameters << signal, lengths, noise;
  return parameters;
}

Eigen::VectorXd in_order(double signal, double length, double noise, Eigen::Index dimensions) {
  return in_order(signal, Eigen::VectorXd::Constant(dimensions, length), noise);
}

// std::uniform_real_distribution may differ between standard libraries; this does not.
double uniform(std::mt19937_64* random) { return static_cast<double>((*random)() >> 11) * 0x1p-53; }

double log_between(const Bounds& bounds, std::mt19937_64* random) {
  return std::log(bounds.lower) + uniform(random) * std::log(bounds.upper / bounds.lower);
}

Eigen::VectorXd draw_start(Eigen::Index dimensions, std::mt19937_64* random) {
  Eigen::VectorXd start(dimensions + 2);
  start[0] = log_between(kDrawSignal, random);
  for (Eigen::Index j = 1; j <= dimensions; ++j) start[j] = log_between(kDrawLength, random);
  start[dimensions + 1] = log_between(kDrawNoise, random);
  return start;
}

// Adds the log density, up to a constant, of a log-normal belief about exp(log_value).
double add_prior(const std::optional<LogPrior>& prior, double log_value, double* slope) {
  if (!prior) return 0;
  const double z = (log_value - std::log(prior->median)) / prior->log_sd;
  *slope -= z / prior->log_sd;
  return -0.5 * z * z;
}

}  // namespace

Hyperparameters fit_hyperparameters(const GpData& data, const GpOptions& options) {
  const double spread = typical_spread(data);
  const Eigen::VectorXd ranges = input_ranges(data.x);
  const Eigen::Index d = data.x.cols();
  // A single point, which is the mean, says nothing about the hyperparameters: only the prior does.
  const bool informative = data.x.rows() > 1;
  Likelihood likelihood(data.x * ranges.cwiseInverse().asDiagonal(),
                        (data.y.array() - data.y.mean()) / spread, data.noise_weights, options.kernel);
  const Objective objective = [&](const Eigen::VectorXd& x, Eigen::VectorXd* gradient) {
    gradient->setZero();
    double value = informative ? likelihood.evaluate(x, gradient) : 0;
    for (Eigen::Index j = 1; j <= d; ++j) value += add_prior(options.length_prior, x[j], &(*gradient)[j]);
    return value;
  };

  const Bounds& signal = options.signal_bounds;
  const Eigen::VectorXd lower =
      in_order(signal.lower, kLengthBounds.lower, kNoiseBounds.lower, d).array().log();
  const Eigen::VectorXd upper =
      in_order(signal.upper, kLengthBounds.upper, kNoiseBounds.upper, d).array().log();
  Eigen::VectorXd start = in_order(kFirstSignal, kFirstLength, kFirstNoise, d);
  if (options.start) {
    start = in_order(options.start->signal_sd / spread, options.start->length_scales.cwiseQuotient(ranges),
                     options.start->noise_sd / spread);
  }
  start = start.array().log();  // no noise becomes minus infinity, which the bounds take care of

  Maximum best;
  best.value = -std::numeric_limits<double>::infinity();
  std::mt19937_64 random(kSeed);
  for (int i = 0; i <= options.restarts; ++i) {
    const Maximum found = maximise(objective, start, lower, upper, kTolerance, kEvaluations);
    if (found.value > best.value) best = found;
    start = draw_start(d, &random);
  }
  if (!std::isfinite(best.value)) {
    throw Error(ErrorKind::kFailed, "Gaussian process: the likelihood is undefined at all starts");
  }
  const Eigen::VectorXd parameters = best.x.array().exp();
  return {parameters[0] * spread, parameters.segment(1, d).cwiseProduct(ranges), parameters[d + 1] * spread};
}

}  // namespace ampere

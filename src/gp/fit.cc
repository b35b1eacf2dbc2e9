#include "gp/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "base/error.h"
#include "gp/gp_data.h"
#include "gp/likelihood.h"
#include "gp/optimise.h"

namespace ampere {
namespace {

// A start ends when a step gains less than this in log likelihood.
constexpr double kTolerance = 1e-7;
// Log hyperparameters this close to a bound lie on it.
constexpr double kAtBound = 1e-6;

// Where the first start begins and the others are drawn from, in relative units. Narrower than the bounds:
// near those the likelihood is flat and a start is wasted.
constexpr double kFirstSignal = 1;
constexpr double kFirstLength = 0.5;
constexpr double kFirstNoise = 0.1;
constexpr Bounds kDrawSignal{0.3, 3};
constexpr Bounds kDrawLength{0.02, 50};
constexpr Bounds kDrawNoise{0.01, 0.5};

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

FitResult fit_hyperparameters(const GpData& data, const GpOptions& options) {
  const double spread = typical_spread(data);
  const Eigen::VectorXd ranges = input_ranges(data, options);
  const Eigen::Index d = data.x.cols();
  const bool subtract_mean = options.subtract_mean && data.basis.cols() == 0;
  const double offset = subtract_mean ? data.y.mean() : 0;
  // With as many coefficients as points the data say nothing about the hyperparameters: only priors do.
  const bool informative = data.x.rows() > data.basis.cols() + (subtract_mean ? 1 : 0);
  Likelihood likelihood(data.x * ranges.cwiseInverse().asDiagonal(), (data.y.array() - offset) / spread,
                        data.basis * column_scales(data.basis).cwiseInverse().asDiagonal(),
                        data.noise_weights, options.kernel);
  const Objective objective = [&](const Eigen::VectorXd& x, Eigen::VectorXd* gradient) {
    gradient->setZero();
    double value = informative ? likelihood.evaluate(x, gradient) : 0;
    for (Eigen::Index j = 1; j <= d; ++j) value += add_prior(options.length_prior, x[j], &(*gradient)[j]);
    return value;
  };

  const Bounds &signal = options.signal_bounds, &length = options.length_bounds,
               &noise = options.noise_bounds;
  const Eigen::VectorXd lower = in_order(signal.lower, length.lower, noise.lower, d).array().log();
  const Eigen::VectorXd upper = in_order(signal.upper, length.upper, noise.upper, d).array().log();
  Eigen::VectorXd start = in_order(kFirstSignal, kFirstLength, kFirstNoise, d);
  if (options.start) {
    start = in_order(options.start->signal_sd / spread, options.start->length_scales.cwiseQuotient(ranges),
                     options.start->noise_sd / spread);
  }
  start = start.array().log();  // no noise becomes minus infinity, which the bounds take care of

  FitResult result;
  Maximum best;
  best.value = -std::numeric_limits<double>::infinity();
  std::mt19937_64 random(options.seed);
  for (int i = 0; i <= options.restarts; ++i) {
    const Maximum found = maximise(objective, start, lower, upper, kTolerance, options.evaluations);
    ++result.summary.starts;
    result.summary.evaluations += found.evaluations;
    if (found.value > best.value) best = found;
    start = draw_start(d, &random);
  }
  if (!std::isfinite(best.value)) {
    throw Error(ErrorKind::kFailed,
                "Gaussian process: the likelihood is undefined at all starts; raise the lower bound of "
                "the noise");
  }
  const Eigen::VectorXd parameters = best.x.array().exp();
  result.hyperparameters.signal_sd = parameters[0] * spread;
  result.hyperparameters.length_scales = parameters.segment(1, d).cwiseProduct(ranges);
  result.hyperparameters.noise_sd = parameters[d + 1] * spread;
  result.summary.reason = best.reason;
  const auto free = (upper - lower).array() > kAtBound;
  const auto low = (best.x - lower).array() < kAtBound;
  const auto high = (upper - best.x).array() < kAtBound;
  result.summary.at_bound = (free && (low || high)).any();
  return result;
}

const char* to_word(StopReason reason) {
  switch (reason) {
    case StopReason::kNotFitted:
      return "not fitted";
    case StopReason::kConverged:
      return "converged";
    case StopReason::kRoundoff:
      return "converged to rounding";
    case StopReason::kEvaluationLimit:
      return "evaluation limit reached";
  }
  return "unknown";
}

std::string FitSummary::brief() const {
  std::ostringstream text;
  text << to_word(reason) << ": log marginal likelihood " << log_marginal_likelihood << " after " << starts
       << " starts and " << evaluations << " evaluations";
  if (jitter > 0) text << ", jitter " << jitter;
  if (at_bound) text << ", a hyperparameter is on its bound";
  return text.str();
}

}  // namespace ampere

#include "model/surface_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "gp/gp_data.h"
#include "model/nnls.h"

namespace ampere {
namespace {

// A surface always has bends that a handful of points cannot show. The process never believes less
// than this relative deviation between points, however well the physical mean fits them.
constexpr double kLeastSignal = 0.02;

// Roughness that points without any error of their own still have around a smooth surface.
constexpr double kRoughness = 0.01;

// Beyond the points the physical mean goes on as it did among them, but rates do not: kernels change, caches
// overflow. Standard deviation of the logarithm for every factor e that a place lies outside of the measured
// channels; extrapolation_test.cc holds it against recorded points.
constexpr double kPerFactorOutside = 0.45;

// By so much must the logarithm of the likelihood gain for channels to be counted in blocks: few points are
// easily mistaken for some.
constexpr double kBlocksGain = 3;

constexpr int kMostSteps = 8;  // more are not asked for

// Points that scattered more count less.
void weigh_noise(const std::vector<Observation>& observations, GpData& data) {
  data.noise_weights.resize(data.y.size());
  for (Eigen::Index i = 0; i < data.y.size(); ++i) {
    const double error = std::min(observations[static_cast<std::size_t>(i)].error, 0.3);
    data.noise_weights(i) = 1 + error * error / (kRoughness * kRoughness);
  }
}

void bound_signal(const GpData& data, GpOptions& gp) {
  const double spread = typical_spread(data);  // what the bounds are relative to
  gp.signal_bounds.lower = std::max(gp.signal_bounds.lower, kLeastSignal / spread);
  gp.signal_bounds.upper = std::max(gp.signal_bounds.upper, 10 * gp.signal_bounds.lower);
}

}  // namespace

SurfaceOptions default_surface_options(bool processor) {
  SurfaceOptions options;
  if (processor) options.block = 16;
  // Costs step from one channel number to the next, as kernels and their blocks do (docs/accuracy.md).
  options.gp.kernel = KernelType::kMatern12;
  options.gp.restarts = 3;
  // With a dozen points the likelihood alone cannot tell noise from wiggles; measurements have told
  // us how noisy they are, and surfaces bend over a good part of their range.
  options.gp.length_prior = LogPrior{0.7, 0.7};
  return options;
}

SurfaceOptions paper_surface_options() {
  SurfaceOptions options;
  options.logarithmic = false;
  options.physical_mean = false;
  options.most_steps = 0;
  options.gp.restarts = 5;
  return options;
}

SurfaceModel::SurfaceModel(std::vector<Observation> observations, Surface surface, const CostPolynomial& cost,
                           const SurfaceOptions& options)
    : observations_(std::move(observations)), surface_(surface), cost_(cost), options_(options) {
  if (options_.most_steps > kMostSteps) throw bad_input("a surface has at most 8 steps");
  if (observations_.empty()) throw bad_input("a surface needs at least one measured point");
  for (const Observation& o : observations_) {
    if (!std::isfinite(o.value) || (options_.logarithmic && o.value <= 0)) {
      throw bad_input("a surface point has a value that is not positive");
    }
  }
  seen_ = {{observations_[0].channels.in, observations_[0].channels.in, 1},
           {observations_[0].channels.out, observations_[0].channels.out, 1}};
  for (const Observation& o : observations_)
    seen_ = united(seen_, {{o.channels.in, o.channels.in, 1}, {o.channels.out, o.channels.out, 1}});
  mean_ = fit_mean(1);
  fitted_ = fit_process();
  if (options_.physical_mean && options_.block > 1) {
    const Mean plain = std::exchange(mean_, fit_mean(options_.block));
    const auto in_blocks = fit_process();
    if (in_blocks->gp.log_marginal_likelihood() > gp().log_marginal_likelihood() + kBlocksGain)
      fitted_ = in_blocks;
    else
      mean_ = plain;
  }
  for (const Observation& o : observations_) know(o);
}

std::shared_ptr<const SteppedGp> SurfaceModel::fit_process() const {
  const GpData seen = data();
  return std::make_shared<const SteppedGp>(fit_with_steps(seen, process_options(seen), options_.most_steps));
}

GpData SurfaceModel::data() const {
  const auto n = static_cast<Eigen::Index>(observations_.size());
  GpData data;
  data.x.resize(n, dimensions());
  data.y.resize(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Observation& o = observations_[static_cast<std::size_t>(i)];
    double x[2];
    locate(o.channels, x);
    for (int d = 0; d < dimensions(); ++d) data.x(i, d) = x[d];
    const double expected = physical(o.channels);
    data.y(i) = options_.logarithmic ? std::log(o.value / expected) : o.value - expected;
  }
  if (options_.logarithmic) weigh_noise(observations_, data);
  return data;
}

GpOptions SurfaceModel::process_options(const GpData& data) const {
  GpOptions gp = options_.gp;
  if (options_.logarithmic) bound_signal(data, gp);
  return gp;
}

void SurfaceModel::narrow(const std::vector<SurfaceStep>& elsewhere) {
  std::vector<InputStep> steps = fitted_->steps;
  bool narrower = false;
  for (InputStep& own : steps) {
    for (const SurfaceStep& other : elsewhere) {
      const double from = std::max(own.from, coordinate(other.from));
      const double to = std::min(own.to, coordinate(other.to));
      if (other.of_in != is_of_in(own) || from >= to || (from <= own.from && to >= own.to)) continue;
      own.from = from;
      own.to = to;
      narrower = true;
    }
  }
  if (!narrower) return;
  const GpData seen = data();
  fitted_ = std::make_shared<const SteppedGp>(
      fit_given_steps(seen, process_options(seen), std::move(steps), gp().hyperparameters()));
}

void SurfaceModel::know(const Observation& observation) { known_[observation.channels] = observation; }

SurfaceModel::Mean SurfaceModel::fit_mean(std::int64_t block) const {
  if (!options_.physical_mean) return {};
  const auto n = static_cast<Eigen::Index>(observations_.size());
  Eigen::MatrixXd terms(n, 3);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Observation& o = observations_[static_cast<std::size_t>(i)];
    // Divided by the value: relative errors count, as everywhere.
    terms(i, 0) = 1 / o.value;
    terms(i, 1) = flops(o.channels, block) / o.value;
    terms(i, 2) = cost_.bytes(o.channels) / o.value;
  }
  const Eigen::VectorXd scale = terms.colwise().norm().cwiseMax(1e-300).transpose();
  const Eigen::VectorXd k =
      nonnegative_least_squares(terms * scale.cwiseInverse().asDiagonal(), Eigen::VectorXd::Ones(n))
          .cwiseQuotient(scale);
  return {k(0), k(1), k(2), block};
}

double SurfaceModel::flops(Channels c, std::int64_t block) const {
  // Only of what varies along the surface: elsewhere the polynomial does not hold.
  const auto whole = [&](std::int64_t v, bool varies) {
    return varies ? (v + block - 1) / block * block : v;
  };
  return cost_.flops({whole(c.in, in_varies()), whole(c.out, out_varies())});
}

double SurfaceModel::physical(Channels c) const {
  if (!options_.physical_mean) return options_.logarithmic ? 1 : 0;
  return mean_.fixed + mean_.per_flop * flops(c, mean_.block) + mean_.per_byte * cost_.bytes(c);
}

double SurfaceModel::coordinate(std::int64_t channels) const {
  return options_.logarithmic ? std::log(static_cast<double>(channels)) : static_cast<double>(channels);
}

void SurfaceModel::locate(Channels c, double* x) const {
  switch (surface_) {
    case Surface::kOut:
      x[0] = coordinate(c.out);
      break;
    case Surface::kInOut:
      x[0] = coordinate(c.in);
      x[1] = coordinate(c.out);
      break;
    default:
      x[0] = coordinate(c.in);
  }
}

Eigen::MatrixXd SurfaceModel::locate(const std::vector<Channels>& places) const {
  Eigen::MatrixXd x(static_cast<Eigen::Index>(places.size()), dimensions());
  for (std::size_t i = 0; i < places.size(); ++i) {
    double at[2];
    locate(places[i], at);
    for (int d = 0; d < dimensions(); ++d) x(static_cast<Eigen::Index>(i), d) = at[d];
  }
  return with_steps(x, fitted_->steps);
}

std::vector<SurfaceStep> SurfaceModel::steps() const {
  const auto channels = [&](double x) { return std::llround(options_.logarithmic ? std::exp(x) : x); };
  std::vector<SurfaceStep> out;
  for (const InputStep& s : fitted_->steps) out.push_back({is_of_in(s), channels(s.from), channels(s.to)});
  return out;
}

double SurfaceModel::distance_outside(Channels c) const {
  const auto beyond = [](std::int64_t v, const Range& seen) {
    const std::int64_t nearest = std::clamp(v, seen.min, seen.max);
    return std::log(static_cast<double>(v) / static_cast<double>(nearest));
  };
  return std::hypot(in_varies() ? beyond(c.in, seen_.in) : 0, out_varies() ? beyond(c.out, seen_.out) : 0);
}

double SurfaceModel::mean_at(Channels channels) const {
  double x[2 + kMostSteps];
  locate(channels, x);
  double* next = x + dimensions();
  for (const InputStep& step : fitted_->steps) *next++ = step.at(x[step.column]);
  const double g = gp().mean_at(x);
  return options_.logarithmic ? physical(channels) * std::exp(g) : physical(channels) + g;
}

SurfacePrediction SurfaceModel::at(const std::vector<Channels>& places) const {
  const Eigen::MatrixXd rows = locate(places);
  const GpJointPrediction joint = gp().joint(rows);
  const auto n = static_cast<Eigen::Index>(places.size());
  SurfacePrediction out{Eigen::VectorXd(n), joint.covariance};
  for (Eigen::Index i = 0; i < n; ++i) {
    const double base = physical(places[static_cast<std::size_t>(i)]);
    out.mean(i) = options_.logarithmic ? base * std::exp(joint.mean(i)) : base + joint.mean(i);
  }
  if (!options_.logarithmic) return out;
  Eigen::MatrixXd log_covariance = joint.covariance;
  const double roughness = gp().hyperparameters().noise_sd;
  log_covariance.diagonal().array() += roughness * roughness;
  log_covariance.diagonal() += fitted_->undecided(rows);
  // All places outside of the points err alike: what the rates do out there is one thing.
  Eigen::VectorXd outside(n);
  for (Eigen::Index i = 0; i < n; ++i)
    outside(i) = kPerFactorOutside * distance_outside(places[static_cast<std::size_t>(i)]);
  log_covariance += outside * outside.transpose();
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto seen = known_.find(places[static_cast<std::size_t>(i)]);
    if (seen == known_.end()) continue;
    const double error = std::max(seen->second.error, seen->second.repeatability);
    if (error * error > log_covariance(i, i)) continue;
    out.mean(i) = seen->second.value;
    log_covariance.row(i).setZero();
    log_covariance.col(i).setZero();
    log_covariance(i, i) = error * error;
  }
  // Log-normal values: Cov = m_i m_j (exp(c_ij) - 1), with the median as m. The mean of a log-normal
  // would exceed it by half the variance, which only says how little is known; bounded so that a
  // place far from every point stays a number.
  out.covariance =
      out.mean.asDiagonal() * log_covariance.array().cwiseMin(4.0).exp().matrix() * out.mean.asDiagonal();
  out.covariance -= out.mean * out.mean.transpose();
  return out;
}

Eigen::VectorXd SurfaceModel::relative_deviation(const std::vector<Channels>& places) const {
  const Eigen::MatrixXd rows = locate(places);
  const GpPrediction p = gp().predict(rows);
  if (options_.logarithmic) return (p.variance + fitted_->undecided(rows)).cwiseMax(0).cwiseSqrt();
  Eigen::VectorXd out(p.mean.size());
  for (Eigen::Index i = 0; i < out.size(); ++i) {
    const double mean = physical(places[static_cast<std::size_t>(i)]) + p.mean(i);
    out(i) = std::sqrt(std::max(0.0, p.variance(i))) / std::max(std::abs(mean), 1e-300);
  }
  return out;
}

}  // namespace ampere

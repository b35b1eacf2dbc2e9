#include "profile/power_model.h"

#include <algorithm>
#include <cmath>

namespace ampere {
namespace {

// How well energy comes again at the same place.
constexpr double kRepeatability = 0.01;
constexpr int kFeatures = 3;
// With a dozen points the process likes to think that it knows everything; at places that nobody measured it
// is never believed to be better than this (docs/accuracy.md).
constexpr double kLeastDeviation = 0.03;

}  // namespace

PowerModel::PowerModel(const std::vector<PowerObservation>& observations, const CostPolynomial& cost)
    : cost_(cost) {
  const auto n = static_cast<Eigen::Index>(observations.size());
  std::vector<Channels> places;
  Eigen::VectorXd times(n);
  GpData data;
  data.y.resize(n);
  data.noise_weights.resize(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const PowerObservation& o = observations[static_cast<std::size_t>(i)];
    places.push_back(o.channels);
    times(i) = o.time_s;
    data.y(i) = std::log(o.energy_j / o.time_s);
    const double error = std::min(o.error, 0.3) / kRepeatability;
    data.noise_weights(i) = 1 + error * error;
  }
  data.x = locate(places, times);
  GpOptions options = default_surface_options().gp;
  options.kernel = KernelType::kMatern52;  // power is smooth in what the device does, unlike time in channels
  gp_ = std::make_shared<Gp>(Gp::fit(std::move(data), options));
  caution_ = caution(*gp_);
  for (const PowerObservation& o : observations) know(o);
}

void PowerModel::know(const PowerObservation& observation) { known_[observation.channels] = observation; }

Eigen::MatrixXd PowerModel::locate(const std::vector<Channels>& places, const Eigen::VectorXd& times) const {
  Eigen::MatrixXd x(static_cast<Eigen::Index>(places.size()), kFeatures);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double time = std::max(times(row), 1e-12);
    x.row(row) << std::log(std::max(cost_.flops(places[i]), 1.0) / time),
        std::log(std::max(cost_.bytes(places[i]), 1.0) / time), std::log(time);
  }
  return x;
}

SurfacePrediction PowerModel::energy(const std::vector<Channels>& places,
                                     const SurfacePrediction& times) const {
  const GpJointPrediction power = gp_->joint(locate(places, times.mean));
  // A layer that takes longer than thought draws less meanwhile: energy grows by less than the time does.
  constexpr double kStep = 1.05;
  const Eigen::VectorXd slower = gp_->mean(locate(places, kStep * times.mean));
  const double roughness = gp_->hyperparameters().noise_sd;
  const auto n = static_cast<Eigen::Index>(places.size());
  SurfacePrediction out{Eigen::VectorXd(n), Eigen::MatrixXd(n, n)};
  Eigen::VectorXd share(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    out.mean(i) = times.mean(i) * std::exp(power.mean(i));
    share(i) = std::clamp(1 + (slower(i) - power.mean(i)) / std::log(kStep), 0.0, 1.2);
  }
  Eigen::MatrixXd relative = power.covariance;
  relative.diagonal().array() += roughness * roughness;
  relative *= caution_;
  relative.diagonal().array() += kLeastDeviation * kLeastDeviation;
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j)
      relative(i, j) += share(i) * share(j) * times.covariance(i, j) / (times.mean(i) * times.mean(j));
  }
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto seen = known_.find(places[static_cast<std::size_t>(i)]);
    if (seen == known_.end()) continue;
    const double error = std::max(seen->second.error, kRepeatability);
    if (error * error > relative(i, i)) continue;
    out.mean(i) = seen->second.energy_j;
    relative.row(i).setZero();
    relative.col(i).setZero();
    relative(i, i) = error * error;
  }
  out.covariance = out.mean.asDiagonal() * relative.cwiseMin(4.0) * out.mean.asDiagonal();
  return out;
}

Eigen::VectorXd PowerModel::relative_deviation(const std::vector<Channels>& places,
                                               const Eigen::VectorXd& times) const {
  return gp_->predict(locate(places, times)).variance.cwiseMax(0).cwiseSqrt();
}

}  // namespace ampere

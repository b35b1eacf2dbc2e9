#include "profile/power_model.h"

#include <cmath>

#include "profile/nnls.h"

namespace ampere {
namespace {

// How well energy comes again at the same place.
constexpr double kRepeatability = 0.01;

SurfaceOptions residual_options() {
  SurfaceOptions options = default_surface_options();
  options.physical_mean = false;
  return options;
}

}  // namespace

PowerModel::PowerModel(const std::vector<PowerObservation>& observations, Surface surface,
                       const CostPolynomial& cost)
    : cost_(cost) {
  const auto n = static_cast<Eigen::Index>(observations.size());
  Eigen::MatrixXd terms(n, 3);
  for (Eigen::Index i = 0; i < n; ++i) {
    const PowerObservation& o = observations[static_cast<std::size_t>(i)];
    terms.row(i) << o.time_s, cost_.flops(o.channels), cost_.bytes(o.channels);
    terms.row(i) /= o.energy_j;
  }
  const Eigen::VectorXd scale = terms.colwise().norm().cwiseMax(1e-300).transpose();
  const Eigen::VectorXd k =
      nonnegative_least_squares(terms * scale.cwiseInverse().asDiagonal(), Eigen::VectorXd::Ones(n));
  static_w_ = k(0) / scale(0);
  per_flop_ = k(1) / scale(1);
  per_byte_ = k(2) / scale(2);
  std::vector<Observation> ratios;
  for (const PowerObservation& o : observations) ratios.push_back(ratio(o));
  residual_ = std::make_unique<SurfaceModel>(std::move(ratios), surface, cost, residual_options());
}

Observation PowerModel::ratio(const PowerObservation& o) const {
  return {o.channels, o.energy_j / physical_energy(o.channels, o.time_s), o.error, kRepeatability};
}

void PowerModel::know(const PowerObservation& observation) { residual_->know(ratio(observation)); }

double PowerModel::physical_energy(Channels c, double time_s) const {
  return static_w_ * time_s + per_flop_ * cost_.flops(c) + per_byte_ * cost_.bytes(c);
}

SurfacePrediction PowerModel::energy(const std::vector<Channels>& places,
                                     const SurfacePrediction& times) const {
  const SurfacePrediction ratios = residual_->at(places);
  const auto n = static_cast<Eigen::Index>(places.size());
  SurfacePrediction out{Eigen::VectorXd(n), Eigen::MatrixXd(n, n)};
  Eigen::VectorXd share(n);  // of the energy that grows with the time
  for (Eigen::Index i = 0; i < n; ++i) {
    const double physical = physical_energy(places[static_cast<std::size_t>(i)], times.mean(i));
    out.mean(i) = physical * ratios.mean(i);
    share(i) = static_w_ * times.mean(i) / physical;
  }
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      const double of_time = times.covariance(i, j) / (times.mean(i) * times.mean(j)) * share(i) * share(j);
      const double of_power = ratios.covariance(i, j) / (ratios.mean(i) * ratios.mean(j));
      out.covariance(i, j) = out.mean(i) * out.mean(j) * (of_time + of_power);
    }
  }
  return out;
}

Eigen::VectorXd PowerModel::relative_deviation(const std::vector<Channels>& places) const {
  return residual_->relative_deviation(places);
}

}  // namespace ampere

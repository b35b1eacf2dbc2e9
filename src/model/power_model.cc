#include "model/power_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ampere {
namespace {

// Relative deviation below which no unmeasured place is predicted: fitted to a dozen points, the process
// underestimates its variance.
constexpr double kLeastDeviation = 0.015;

}  // namespace

PowerModel::PowerModel(const std::vector<PowerObservation>& observations, const CostPolynomial& cost,
                       Others others)
    : cost_(cost), others_(std::move(others)) {
  for (const PowerObservation& o : observations) know(o);
  PowerData data = power_by_rates(cost_, observations);
  GpOptions options = default_surface_options().gp;
  options.kernel = KernelType::kMatern52;  // power is smooth in what the device does, unlike time in channels
  own_ = std::make_shared<Gp>(
      Gp::fit({std::move(data.x), std::move(data.y), {}, std::move(data.noise_weights)}, options));
  caution_ = caution(*own_);
}

void PowerModel::know(const PowerObservation& observation) {
  known_[observation.channels] = observation;
  know(observation.channels, observation.kernels);
}

void PowerModel::know(Channels place, const Kernels& kernels) {
  if (!kernels.empty()) kernels_[place] = kernels;
}

GpJointPrediction PowerModel::log_energy(const std::vector<Channels>& places,
                                         const Eigen::VectorXd& times) const {
  GpJointPrediction energy = by_rates(places, times);
  if (!others_.by_kernels) return energy;
  std::vector<Eigen::Index> told;  // places whose kernels are known
  std::vector<Channels> there;
  std::vector<Kernels> kernels;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto known = kernels_.find(places[i]);
    if (known == kernels_.end()) continue;
    told.push_back(static_cast<Eigen::Index>(i));
    there.push_back(places[i]);
    kernels.push_back(known->second);
  }
  if (told.empty()) return energy;
  const GpJointPrediction by_kernels =
      others_.by_kernels->log_energy(others_.kind, there, times(told), kernels);
  // The prediction by kernels replaces the one by rates, unless its variance is more than nine times as
  // large: that is so for kernels with hardly any measured energy. Less than nine would prefer the rates too
  // often, because the process by rates underestimates its own variance.
  constexpr double kMuchLessSure = 9;                         // variance over variance
  std::vector<std::pair<Eigen::Index, Eigen::Index>> better;  // rows here and there
  for (std::size_t i = 0; i < told.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    if (by_kernels.covariance(row, row) <= kMuchLessSure * energy.covariance(told[i], told[i]))
      better.emplace_back(told[i], row);
  }
  for (const auto& [row, from_row] : better) {
    energy.mean(row) = by_kernels.mean(from_row);
    energy.covariance.row(row).setZero();
    energy.covariance.col(row).setZero();
  }
  for (const auto& [row, from_row] : better) {
    for (const auto& [column, from_column] : better)
      energy.covariance(row, column) = by_kernels.covariance(from_row, from_column);
  }
  return energy;
}

GpJointPrediction PowerModel::by_rates(const std::vector<Channels>& places,
                                       const Eigen::VectorXd& times) const {
  GpJointPrediction own = own_->joint(rates(cost_, places, times));
  const double roughness = own_->hyperparameters().noise_sd;
  own.covariance.diagonal().array() += roughness * roughness;
  own.covariance *= caution_;
  own.mean.array() += times.array().max(1e-12).log();
  if (!others_.by_rates) return own;
  const GpJointPrediction all = others_.by_rates->log_energy(others_.kind, places, times);
  // Mean of both predictions, weighted by the inverse of their variances. Either variance may be too small,
  // so the larger of the two is reported.
  const Eigen::ArrayXd v = own.covariance.diagonal().array(), w = all.covariance.diagonal().array();
  const Eigen::VectorXd by_all = (v / (v + w)).matrix();
  const Eigen::VectorXd by_own = Eigen::VectorXd::Ones(by_all.size()) - by_all;
  GpJointPrediction both;
  both.mean = by_own.cwiseProduct(own.mean) + by_all.cwiseProduct(all.mean);
  both.covariance = by_own.asDiagonal() * own.covariance * by_own.asDiagonal();
  both.covariance += by_all.asDiagonal() * all.covariance * by_all.asDiagonal();
  const Eigen::VectorXd stretch = (v.max(w) / both.covariance.diagonal().array()).sqrt().matrix();
  both.covariance = stretch.asDiagonal() * both.covariance * stretch.asDiagonal();
  return both;
}

SurfacePrediction PowerModel::energy(const std::vector<Channels>& places,
                                     const SurfacePrediction& times) const {
  const GpJointPrediction energy = log_energy(places, times.mean);
  // d log(energy) / d log(time), by a finite difference: a layer that takes longer than predicted draws less
  // power meanwhile, so its energy grows by less than its time.
  constexpr double kStep = 1.05;
  const Eigen::VectorXd slower = log_energy(places, kStep * times.mean).mean;
  const auto n = static_cast<Eigen::Index>(places.size());
  SurfacePrediction out{energy.mean.array().exp().matrix(), Eigen::MatrixXd(n, n)};
  const Eigen::VectorXd share = ((slower - energy.mean) / std::log(kStep)).array().max(0.0).min(1.2).matrix();
  Eigen::MatrixXd relative = energy.covariance;
  relative.diagonal().array() += kLeastDeviation * kLeastDeviation;
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j)
      relative(i, j) += share(i) * share(j) * times.covariance(i, j) / (times.mean(i) * times.mean(j));
  }
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto seen = known_.find(places[static_cast<std::size_t>(i)]);
    if (seen == known_.end()) continue;
    const double error = std::max(seen->second.error, kEnergyRepeatability);
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
  return own_->predict(rates(cost_, places, times)).variance.cwiseMax(0).cwiseSqrt();
}

}  // namespace ampere

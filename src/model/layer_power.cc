#include "model/layer_power.h"

#include <algorithm>
#include <cmath>

#include "model/nnls.h"

namespace ampere {
namespace {

// What another layer at the same rates may draw more or less.
constexpr double kOwnOfLayer = 0.015;
// The process says that it is twice as unsure as it was on recorded points (docs/accuracy.md).
constexpr double kSurer = 0.6;
constexpr double kMostError = 0.3;
constexpr double kShortestLayer_s = 1e-12;
constexpr double kLeastBase_w = 1e-3;

OpFamily family_of_first(Op op) {
  switch (op) {
    case Op::kConv1d:
    case Op::kConv2d:
    case Op::kConvTranspose2d:
      return OpFamily::kConvolution;
    case Op::kLinear:
    case Op::kMatmul:
      return OpFamily::kProduct;
    case Op::kLstm:
    case Op::kGru:
      return OpFamily::kRecurrent;
    case Op::kAttention:
    case Op::kEncoderLayer:
      return OpFamily::kAttention;
    default:
      return OpFamily::kPointwise;
  }
}

// A process takes the cube of its points in time: of more, some stand for all.
constexpr std::size_t kMostLayers = 1500;

std::vector<MeteredLayer> some_of(const std::vector<MeteredLayer>& all) {
  const std::size_t step = (all.size() + kMostLayers - 1) / kMostLayers;
  std::vector<MeteredLayer> some;
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

}  // namespace

OpWork as_one_call(const SurfacePlan& plan, const CostPolynomial& cost, Channels channels) {
  OpWork work;
  work.family = family_of_first(plan.kind.ops.front().op);
  work.name = plan.key;
  work.flops = cost.flops(channels);
  work.bytes = cost.bytes(channels);
  work.columns = static_cast<double>(std::max<std::int64_t>(channels.out, 1));
  work.depth = static_cast<double>(std::max<std::int64_t>(channels.in, 1));
  return work;
}

LayerPower::LayerPower(const std::vector<MeteredLayer>& all) {
  const std::vector<MeteredLayer> seen = some_of(all);
  most_.launch_s = 1e-6;
  for (const MeteredLayer& m : seen) {
    most_.flops_per_s[0] = std::max({most_.flops_per_s[0], m.work.flops / m.time_s, 1.0});
    most_.bytes_per_s = std::max({most_.bytes_per_s, m.work.bytes / m.time_s, 1.0});
  }
  Eigen::MatrixXd shares(static_cast<Eigen::Index>(seen.size()), 3);  // of the measured energy
  for (Eigen::Index i = 0; i < shares.rows(); ++i) {
    const MeteredLayer& m = seen[static_cast<std::size_t>(i)];
    shares.row(i) << m.time_s, m.work.flops, m.work.bytes;
    shares.row(i) /= m.energy_j;
  }
  const Eigen::VectorXd found = nonnegative_least_squares(shares, Eigen::VectorXd::Ones(shares.rows()));
  base_w_ = std::max(found(0), kLeastBase_w);
  per_flop_j_ = found(1);
  per_byte_j_ = found(2);

  std::vector<SeenSum> powers;
  Eigen::VectorXd mean(shares.rows());
  for (const MeteredLayer& m : seen) {
    powers.push_back({{{static_cast<int>(points_.size()), 1}},
                      std::log(m.energy_j / m.time_s),
                      std::hypot(kEnergyRepeatability, std::min(m.error, kMostError))});
    mean(static_cast<Eigen::Index>(points_.size())) = expected_log_power(m.work, m.time_s);
    points_.push_back(rate_point_of(m.work, most_, m.time_s, names_));
  }
  process_ =
      std::make_unique<SumProcess>(power_covariance(points_, points_), mean, std::move(powers), kOwnOfLayer);
}

double LayerPower::expected_log_power(const OpWork& layer, double time_s) const {
  return std::log(base_w_ + (per_flop_j_ * layer.flops + per_byte_j_ * layer.bytes) / time_s);
}

SumPrediction LayerPower::power(const std::vector<OpWork>& layers, const Eigen::VectorXd& times) const {
  std::vector<RatePoint> points;
  std::vector<AskedSum> sums;
  Eigen::VectorXd mean(times.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double time_s = std::max(times(static_cast<Eigen::Index>(i)), kShortestLayer_s);
    points.push_back(rate_point_of(layers[i], most_, time_s, names_));
    sums.push_back({{{static_cast<int>(i), 1}}, -1});
    mean(static_cast<Eigen::Index>(i)) = expected_log_power(layers[i], time_s);
  }
  return process_->at(sums, power_covariance(points, points_), power_covariance(points, points), mean);
}

SurfacePrediction LayerPower::energy(const std::vector<OpWork>& layers,
                                     const SurfacePrediction& times) const {
  const SumPrediction powers = power(layers, times.mean);
  // d log(energy) / d log(time), by a finite difference: a layer that takes longer than predicted draws less
  // power meanwhile, so its energy grows by less than its time.
  constexpr double kStep = 1.05;
  const Eigen::VectorXd slower = power(layers, kStep * times.mean).log_mean;
  const Eigen::VectorXd share =
      (1 + (slower - powers.log_mean).array() / std::log(kStep)).max(0.0).min(1.2).matrix();
  const Eigen::VectorXd by_time = share.cwiseQuotient(times.mean.cwiseMax(kShortestLayer_s));
  const Eigen::MatrixXd relative = kSurer * kSurer * powers.log_covariance +
                                   by_time.asDiagonal() * times.covariance * by_time.asDiagonal();
  SurfacePrediction out{times.mean.cwiseProduct(powers.log_mean.array().exp().matrix()), {}};
  out.covariance = out.mean.asDiagonal() * relative.cwiseMin(4.0) * out.mean.asDiagonal();
  return out;
}

}  // namespace ampere

#include "model/power_features.h"

#include <algorithm>
#include <cmath>

namespace ampere {
namespace {

// Some of the idle power is the clock's and the context's own; small layers draw hardly more than it.
constexpr double kShareOfIdle = 0.8;
constexpr double kShareOfLeast = 0.9;
constexpr double kLeastBeyond = 0.05;
// Moving a byte costs about as much as so many operations on it.
constexpr double kFlopsPerByte = 40;

double noise_weight(double relative_error) {
  return relative_error * relative_error / (kEnergyRepeatability * kEnergyRepeatability);
}

Eigen::VectorXd times_of(const std::vector<PowerObservation>& observations) {
  Eigen::VectorXd times(static_cast<Eigen::Index>(observations.size()));
  for (Eigen::Index i = 0; i < times.size(); ++i) times(i) = observations[static_cast<std::size_t>(i)].time_s;
  return times;
}

std::vector<Channels> places_of(const std::vector<PowerObservation>& observations) {
  std::vector<Channels> places;
  places.reserve(observations.size());
  for (const PowerObservation& o : observations) places.push_back(o.channels);
  return places;
}

}  // namespace

Eigen::MatrixXd rates(const CostPolynomial& cost, const std::vector<Channels>& places,
                      const Eigen::VectorXd& times) {
  Eigen::MatrixXd x(static_cast<Eigen::Index>(places.size()), 3);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double log_time = std::log(std::max(times(row), 1e-12));
    x.row(row) << std::log(std::max(cost.flops(places[i]), 1.0)) - log_time,
        std::log(std::max(cost.bytes(places[i]), 1.0)) - log_time, log_time;
  }
  return x;
}

Eigen::MatrixXd rates_and_channels(const CostPolynomial& cost, const std::vector<Channels>& places,
                                   const Eigen::VectorXd& times) {
  Eigen::MatrixXd x(static_cast<Eigen::Index>(places.size()), 5);
  x.leftCols(3) = rates(cost, places, times);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto log = [](std::int64_t channels) {
      return std::log(static_cast<double>(std::max<std::int64_t>(channels, 1)));
    };
    x.row(static_cast<Eigen::Index>(i)).tail(2) << log(places[i].in), log(places[i].out);
  }
  return x;
}

double log_work(const CostPolynomial& cost, Channels place) {
  return std::log(std::max(cost.bytes(place) + cost.flops(place) / kFlopsPerByte, 1.0));
}

PowerData power_by_rates(const CostPolynomial& cost, const std::vector<PowerObservation>& observations) {
  const auto n = static_cast<Eigen::Index>(observations.size());
  PowerData data{rates(cost, places_of(observations), times_of(observations)), Eigen::VectorXd(n),
                 Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    const PowerObservation& o = observations[static_cast<std::size_t>(i)];
    data.y(i) = std::log(o.energy_j / o.time_s);
    data.noise_weights(i) = noise_weight(std::hypot(kEnergyRepeatability, std::min(o.error, 0.3)));
  }
  return data;
}

PowerData energy_over_work(const CostPolynomial& cost, const std::vector<PowerObservation>& observations,
                           double base_w) {
  const auto n = static_cast<Eigen::Index>(observations.size());
  PowerData data{rates_and_channels(cost, places_of(observations), times_of(observations)),
                 Eigen::VectorXd(n), Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    const PowerObservation& o = observations[static_cast<std::size_t>(i)];
    // The base may be older than the observation.
    const double beyond_j = std::max(o.energy_j - base_w * o.time_s, kLeastBeyond * o.energy_j);
    data.y(i) = std::log(beyond_j) - log_work(cost, o.channels);
    const double error = std::hypot(kEnergyRepeatability, std::min(o.error, 0.3));
    data.noise_weights(i) = noise_weight(error * o.energy_j / beyond_j);
  }
  return data;
}

GpJointPrediction log_energies(GpJointPrediction beyond, const CostPolynomial& cost, double base_w,
                               const std::vector<Channels>& places, const Eigen::VectorXd& times) {
  Eigen::VectorXd by_work(times.size());
  for (Eigen::Index i = 0; i < times.size(); ++i) {
    const double beyond_j = std::exp(beyond.mean(i) + log_work(cost, places[static_cast<std::size_t>(i)]));
    const double energy_j = beyond_j + base_w * times(i);
    by_work(i) = beyond_j / energy_j;
    beyond.mean(i) = std::log(energy_j);
  }
  beyond.covariance = by_work.asDiagonal() * beyond.covariance * by_work.asDiagonal();
  return beyond;
}

double base_power(double idle_w, const std::vector<PowerObservation>& observations) {
  double base = kShareOfIdle * idle_w;
  for (const PowerObservation& o : observations) base = std::min(base, kShareOfLeast * o.energy_j / o.time_s);
  return base;
}

}  // namespace ampere

#include "model/roof.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace ampere {
namespace {

constexpr int kParameters = kArithmetics + 2;
using Parameters = Eigen::Matrix<double, kParameters, 1>;

Parameters logs_of(const Roof& roof) {
  Parameters p;
  for (std::size_t i = 0; i < kArithmetics; ++i)
    p(static_cast<Eigen::Index>(i)) = std::log(roof.flops_per_s[i]);
  p(kArithmetics) = std::log(roof.bytes_per_s);
  p(kArithmetics + 1) = std::log(roof.launch_s);
  return p;
}

Roof roof_of(const Parameters& p) {
  Roof roof;
  for (std::size_t i = 0; i < kArithmetics; ++i)
    roof.flops_per_s[i] = std::exp(p(static_cast<Eigen::Index>(i)));
  roof.bytes_per_s = std::exp(p(kArithmetics));
  roof.launch_s = std::exp(p(kArithmetics + 1));
  return roof;
}

double log_seconds(const Roof& roof, const TimedWork& seen) {
  double sum = 0;
  for (const CountedWork& w : seen.works) sum += w.count * roof.seconds(w.work);
  return std::log(sum);
}

constexpr double kSpread = 0.7;  // calls differ from their roof by a factor
constexpr int kRounds = 20;
constexpr double kStep = 1e-3;
constexpr double kLongest = 1;

}  // namespace

double Roof::seconds(const OpWork& w) const {
  const double peak = flops_per_s[static_cast<std::size_t>(w.arithmetic)];
  return w.launches * launch_s + std::max(w.flops / peak, w.bytes / bytes_per_s);
}

Roof believed_roof(bool accelerator) {
  if (accelerator) return {{52e12, 400e12, 800e12}, 4e12, 1.6e-6};
  return {{50e9, 50e9, 25e9}, 10e9, 3e-6};
}

// Gauss-Newton; there are five numbers, so derivatives are taken by trying.
Roof fitted_roof(const Roof& believed, const std::vector<TimedWork>& seen, double belief) {
  const Parameters prior = logs_of(believed);
  Parameters p = prior;
  for (int round = 0; round < kRounds; ++round) {
    Eigen::Matrix<double, kParameters, kParameters> a =
        Eigen::Matrix<double, kParameters, kParameters>::Identity() / (belief * belief);
    Parameters b = (prior - p) / (belief * belief);
    const Roof here = roof_of(p);
    std::array<Roof, kParameters> moved;
    for (int k = 0; k < kParameters; ++k) {
      Parameters q = p;
      q(k) += kStep;
      moved[static_cast<std::size_t>(k)] = roof_of(q);
    }
    for (const TimedWork& one : seen) {
      if (one.works.empty() || !(one.time_s > 0)) continue;
      const double at = log_seconds(here, one);
      Parameters slope;
      for (int k = 0; k < kParameters; ++k)
        slope(k) = (log_seconds(moved[static_cast<std::size_t>(k)], one) - at) / kStep;
      a += slope * slope.transpose() / (kSpread * kSpread);
      b += slope * (std::log(one.time_s) - at) / (kSpread * kSpread);
    }
    const Parameters step = a.ldlt().solve(b);
    p += step.cwiseMax(-kLongest).cwiseMin(kLongest);
    if (step.cwiseAbs().maxCoeff() < 1e-4) break;
  }
  return roof_of(p);
}

}  // namespace ampere

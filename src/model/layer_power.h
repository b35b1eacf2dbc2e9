// The power that layers draw, for places whose time is known and whose energy was not measured: the power
// process of the one model (docs/one_model.md), in which a whole layer counts as one call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gp/sum_process.h"
#include "model/surface_model.h"
#include "model/surface_plan.h"
#include "model/work_covariance.h"

namespace ampere {

// How well energy comes again at the same place.
inline constexpr double kEnergyRepeatability = 0.01;

// A layer at its channels, as one call.
OpWork as_one_call(const SurfacePlan& plan, const CostPolynomial& cost, Channels channels);

struct MeteredLayer {
  OpWork work;
  double time_s = 0;
  double energy_j = 0;
  double error = 0.01;  // relative standard error of the energy
};

class LayerPower {
 public:
  // One layer at least.
  explicit LayerPower(const std::vector<MeteredLayer>& seen);

  // Energies at distinct places whose times are predicted or known.
  SurfacePrediction energy(const std::vector<OpWork>& layers, const SurfacePrediction& times) const;

 private:
  double expected_log_power(const OpWork& layer, double time_s) const;
  // Of the logarithms of powers.
  SumPrediction power(const std::vector<OpWork>& layers, const Eigen::VectorXd& times) const;

  Roof most_;  // that any of them did in a second
  mutable WorkNames names_;
  // What a device draws whatever it does, and what it spends on each operation and byte.
  double base_w_ = 0, per_flop_j_ = 0, per_byte_j_ = 0;
  std::vector<RatePoint> points_;
  std::unique_ptr<SumProcess> process_;
};

}  // namespace ampere

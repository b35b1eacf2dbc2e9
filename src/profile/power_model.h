// What a device draws while it works on a layer. Energy is dear to measure and time is cheap, so energy is
// told as time times power, and power from few points.
#pragma once

#include <vector>

#include "profile/surface_model.h"

namespace ampere {

// One place where energy and time were measured together.
struct PowerObservation {
  Channels channels;
  double energy_j;
  double time_s;
  double error = 0.01;  // relative standard error of the energy
};

// Power = p0 + b FLOPs / time + c bytes / time, times what a process over the channels learns that this
// misses. Two kernels that take different times for the same layer also draw different power, which the first
// factor follows without having seen both.
class PowerModel {
 public:
  // One observation is enough.
  PowerModel(const std::vector<PowerObservation>& observations, Surface surface, const CostPolynomial& cost);

  // Energies at places whose times are predicted or known.
  SurfacePrediction energy(const std::vector<Channels>& places, const SurfacePrediction& times) const;
  // Uncertainty of the power alone, standard deviation over mean.
  Eigen::VectorXd relative_deviation(const std::vector<Channels>& places) const;

  void know(const PowerObservation& observation);

 private:
  double physical_energy(Channels channels, double time_s) const;
  Observation ratio(const PowerObservation& observation) const;

  CostPolynomial cost_;
  double static_w_ = 0, per_flop_ = 0, per_byte_ = 0;
  std::unique_ptr<SurfaceModel> residual_;  // of measured over physical energy
};

}  // namespace ampere

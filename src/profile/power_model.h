// What a device draws while it works on a layer. Energy is dear to measure and time is cheap, so energy is
// told as time times power, and power from few points.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "gp/gp.h"
#include "profile/surface_model.h"

namespace ampere {

// One place where energy and time were measured together.
struct PowerObservation {
  Channels channels;
  double energy_j;
  double time_s;
  double error = 0.01;  // relative standard error of the energy
};

// Power follows from what the device is doing: a process over the logarithms of FLOPs per second, bytes per
// second and time. Two kernels that take different times for the same layer also draw different power, which
// the channels alone could not tell (docs/accuracy.md has the comparison).
class PowerModel {
 public:
  // One observation is enough.
  PowerModel(const std::vector<PowerObservation>& observations, const CostPolynomial& cost);

  // Energies at distinct places whose times are predicted or known. Where the energy of a place was itself
  // measured, that counts.
  SurfacePrediction energy(const std::vector<Channels>& places, const SurfacePrediction& times) const;
  // Uncertainty of the power alone, standard deviation over mean.
  Eigen::VectorXd relative_deviation(const std::vector<Channels>& places, const Eigen::VectorXd& times) const;

  // An energy that was measured after the fit, for this place alone.
  void know(const PowerObservation& observation);

 private:
  Eigen::MatrixXd locate(const std::vector<Channels>& places, const Eigen::VectorXd& times) const;

  CostPolynomial cost_;
  std::shared_ptr<Gp> gp_;  // of the logarithm of the power
  double caution_ = 1;
  std::map<Channels, PowerObservation> known_;
};

}  // namespace ampere

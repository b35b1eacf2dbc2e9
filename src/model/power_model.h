// Predicts the energy of a layer as its time multiplied by a power. Energy is slow to measure and time is
// quick, so times are measured at many points and power is regressed on few.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "gp/gp.h"
#include "model/power_features.h"
#include "model/shared_power.h"
#include "model/surface_model.h"

namespace ampere {

// Power is regressed on what the device does: FLOPs per second, bytes per second and time. Two kernels that
// take different times for the same layer also draw different power, which channels alone do not show. Three
// predictions are combined: a Gaussian process on the surface's own points; one on the points of all kinds
// (shared_power.h, by rates), averaged with the first by inverse variance; and, where the kernels of a place
// are known and were metered before, one that has kernels as inputs, which replaces both.
class PowerModel {
 public:
  // Models of all kinds together; either may be null.
  struct Others {
    std::shared_ptr<const SharedPower> by_rates;  // and channels
    std::shared_ptr<const SharedPower> by_kernels;
    std::string kind;  // this one's name there
  };

  // One observation is enough.
  PowerModel(const std::vector<PowerObservation>& observations, const CostPolynomial& cost, Others others);
  PowerModel(const std::vector<PowerObservation>& observations, const CostPolynomial& cost)
      : PowerModel(observations, cost, Others{}) {}

  // Energies at distinct places whose times are predicted or known. Where the energy of a place was itself
  // measured, that counts.
  SurfacePrediction energy(const std::vector<Channels>& places, const SurfacePrediction& times) const;
  // Uncertainty of the power alone by the surface's own points, standard deviation over mean.
  Eigen::VectorXd relative_deviation(const std::vector<Channels>& places, const Eigen::VectorXd& times) const;

  // An energy that was measured after the fit, for this place alone.
  void know(const PowerObservation& observation);
  // The kernels that run at this place.
  void know(Channels place, const Kernels& kernels);

 private:
  GpJointPrediction by_rates(const std::vector<Channels>& places, const Eigen::VectorXd& times) const;
  GpJointPrediction log_energy(const std::vector<Channels>& places, const Eigen::VectorXd& times) const;

  CostPolynomial cost_;
  std::shared_ptr<Gp> own_;
  double caution_ = 1;  // factor on its variances
  Others others_;
  std::map<Channels, PowerObservation> known_;
  std::map<Channels, Kernels> kernels_;
};

}  // namespace ampere

// What a device draws while it works on a layer. Energy is dear to measure and time is cheap, so energy is
// told as time times power, and power from few points.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "gp/gp.h"
#include "model/power_features.h"
#include "model/shared_power.h"
#include "model/surface_model.h"

namespace ampere {

// A surface's own points tell power from what the device is doing: FLOPs per second, bytes per second and
// time. Two kernels that take different times for the same layer also draw different power, which the
// channels alone could not tell. A dozen points have not met every kernel, so what all kinds together have
// shown (shared_power.h) is a second opinion, where there is one; both count by what each knows. Where it is
// known which kernels run, and such have been metered before, they tell instead.
class PowerModel {
 public:
  // What all kinds together say of this one; either may be null.
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

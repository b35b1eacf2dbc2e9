// What a device draws while it works on a layer. Energy is dear to measure and time is cheap, so energy is
// told as time times power, and power from few points.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "gp/gp.h"
#include "profile/power_features.h"
#include "profile/shared_power.h"
#include "profile/surface_model.h"

namespace ampere {

// A surface with many energies of its own tells power from what the device is doing: FLOPs per second, bytes
// per second and time. Two kernels that take different times for the same layer also draw different power,
// which the channels alone could not tell. One with few listens to what other kinds have shown, too, and
// tells energy from what is to be done, which holds for kernels that it has not met; both opinions count by
// what each knows (docs/accuracy.md has the comparisons).
class PowerModel {
 public:
  // One observation is enough. `shared` may be null; `kind` is this one's name there.
  PowerModel(const std::vector<PowerObservation>& observations, const CostPolynomial& cost,
             std::shared_ptr<const SharedPower> shared = nullptr, std::string kind = "");

  // Energies at distinct places whose times are predicted or known. Where the energy of a place was itself
  // measured, that counts.
  SurfacePrediction energy(const std::vector<Channels>& places, const SurfacePrediction& times) const;
  // Uncertainty of the power alone by the surface's own points, standard deviation over mean.
  Eigen::VectorXd relative_deviation(const std::vector<Channels>& places, const Eigen::VectorXd& times) const;

  // An energy that was measured after the fit, for this place alone.
  void know(const PowerObservation& observation);

 private:
  GpJointPrediction log_energy(const std::vector<Channels>& places, const Eigen::VectorXd& times) const;

  CostPolynomial cost_;
  std::shared_ptr<Gp> gp_;  // of power by rates; where there are others, of energy by amounts
  double caution_ = 1;
  std::shared_ptr<const SharedPower> shared_;  // may be null
  std::string kind_;
  std::map<Channels, PowerObservation> known_;
};

}  // namespace ampere

// What all kinds of layers together teach about a device's power. A kind has a dozen points with energy, and
// among them few where an unusual kernel ran; other kinds have seen the device in that state.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gp/gp.h"
#include "model/power_features.h"

namespace ampere {

// What power is told from: rates; rates and channels; or both and the kernels that ran.
enum class PowerInputs { kRates, kChannels, kKernels };

struct PowerOfKind {
  CostPolynomial cost;
  std::vector<PowerObservation> observations;
};

// One process over what all kinds have to do, with slopes by the rates in common, and for each kind a factor
// of its own.
class SharedPower {
 public:
  // Null where there is too little to share: few kinds, or hardly more points than kinds. Points whose
  // kernels nobody can tell are left out where kernels count. `idle_w` is 0 where it is not known.
  static std::shared_ptr<const SharedPower> fit(const std::map<std::string, PowerOfKind>& kinds,
                                                double idle_w, PowerInputs inputs = PowerInputs::kChannels);

  bool knows(const std::string& kind) const { return kinds_.count(kind) > 0; }
  // Logarithms of the energies; the covariance is that of single measurements, less their own noise.
  // `kernels`: of each place; needed where power is told from them, else ignored.
  GpJointPrediction log_energy(const std::string& kind, const std::vector<Channels>& places,
                               const Eigen::VectorXd& times, const std::vector<Kernels>& kernels = {}) const;

 private:
  struct Known {
    CostPolynomial cost;
    Eigen::Index column;
    double caution;  // factor on the variances, by how far the kind's own points are off what the others say
  };
  SharedPower(Gp gp, std::map<std::string, Known> kinds, double base_w, PowerInputs inputs,
              KernelMarks marks);

  Gp gp_;
  std::map<std::string, Known> kinds_;
  double base_w_;
  PowerInputs inputs_;
  KernelMarks marks_;
};

}  // namespace ampere

// One model of a device's power for all kinds of layers of a network. A single kind has a dozen points with
// energy, of which few ran an unusual kernel; other kinds have points in that state of the device.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gp/gp.h"
#include "model/power_features.h"

namespace ampere {

// Inputs of the model: rates; rates and channels; or both and the kernels that ran.
enum class PowerInputs { kRates, kChannels, kKernels };

struct PowerOfKind {
  CostPolynomial cost;
  std::vector<PowerObservation> observations;
};

// A Gaussian process over the inputs of all kinds, with common slopes by the rates and one factor per kind.
class SharedPower {
 public:
  // Null for fewer than three kinds, or hardly more points than kinds. With PowerInputs::kKernels, points
  // without known kernels are left out. `idle_w` is 0 where it is not known.
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
    double caution;  // factor on the predicted variances, from cross-validation of the kind's own points
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

// What power is told from: a layer's work, and the time it took.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "gp/gp.h"
#include "model/cost_polynomial.h"
#include "model/kernel_marks.h"

namespace ampere {

// One place where energy and time were measured together.
struct PowerObservation {
  Channels channels;
  double energy_j;
  double time_s;
  double error = 0.01;   // relative standard error of the energy
  Kernels kernels = {};  // empty where nobody can tell
};

// What a process learns from: inputs, one row per place, and values with the weights of their noise.
struct PowerData {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
  Eigen::VectorXd noise_weights;
};

// Power by what the device is doing: logarithms of FLOPs per second, bytes per second and time.
Eigen::MatrixXd rates(const CostPolynomial& cost, const std::vector<Channels>& places,
                      const Eigen::VectorXd& times);
PowerData power_by_rates(const CostPolynomial& cost, const std::vector<PowerObservation>& observations);

// Energy over work. A device draws some power whatever it does; the rest is spent on the work, nearly as much
// whether the work is done fast or slowly. So what is learned is energy beyond that base, over work. It is
// told from the rates and from the channels, which decide what kernel runs, all by logarithm.
Eigen::MatrixXd rates_and_channels(const CostPolynomial& cost, const std::vector<Channels>& places,
                                   const Eigen::VectorXd& times);
double log_work(const CostPolynomial& cost, Channels place);
PowerData energy_over_work(const CostPolynomial& cost, const std::vector<PowerObservation>& observations,
                           double base_w);
// What a process says of that, as logarithms of energies.
GpJointPrediction log_energies(GpJointPrediction beyond, const CostPolynomial& cost, double base_w,
                               const std::vector<Channels>& places, const Eigen::VectorXd& times);

// A base that leaves something to the work at every place; `idle_w` is 0 where it is not known.
double base_power(double idle_w, const std::vector<PowerObservation>& observations);

// How well energy comes again at the same place.
constexpr double kEnergyRepeatability = 0.01;

}  // namespace ampere

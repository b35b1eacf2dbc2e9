// How right the estimates are: errors of every method against real training.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/estimate.h"

namespace ampere {

// One network that was trained for real, several times.
struct TruthPoint {
  std::string network;
  double flops = 0;  // per iteration
  double bytes = 0;
  double energy_j = 0;  // mean of all measurements
  double time_s = 0;
  double again = 0;  // relative difference between the means of every other measurement and the rest
  int passes = 2;
};

// What one method said about one network.
struct MethodPoint {
  double energy_j = 0;
  std::optional<Interval> interval;
  double time_s = 0;  // 0: the method does not tell
  // What it would have said had it known the time that the iteration really took; 0: the same. On a host that
  // wavers this tells the method's own error from the host's.
  double energy_at_true_time_j = 0;
};

struct MethodResult {
  std::string name;
  double mape = 0;  // mean absolute error over truth, a fraction
  double median = 0;
  double p95 = 0;
  double bias = 0;       // mean signed error
  double time_mape = 0;  // 0 when the method does not tell time
  std::optional<double> mape_at_true_time;
  std::optional<double> coverage;   // share of truths inside the 95% interval
  double probe_s = 0;               // spent on probing all networks, where the method probes
  std::vector<MethodPoint> points;  // one per truth
};

struct Evaluation {
  std::vector<TruthPoint> truth;
  std::vector<MethodResult> methods;
  double noise_floor = 0;  // mean of TruthPoint::again
};

// Fills in the figures of a method from its points.
MethodResult judge(std::string name, std::vector<MethodPoint> points, const std::vector<TruthPoint>& truth);

// The baselines: FLOPs through the origin, FLOPs with an intercept, FLOPs and bytes with an intercept.
// Fitted to the truth itself, in least relative squares, so they could not do better.
std::vector<MethodResult> baselines(const std::vector<TruthPoint>& truth);

// One line per network and method.
std::string to_csv(const Evaluation& evaluation);
// `methods` maps names to figures; `networks` holds the raw points.
Json to_json(const Evaluation& evaluation);

}  // namespace ampere

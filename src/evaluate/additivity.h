// Do layers add up? The paper's Figure 2: identical layers are added to a network one by one, each network is
// trained for real, and each added layer should cost the same.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profile/run.h"

namespace ampere {

// A convolution that reads a grey image of size x size, `added` more that change no shape, and a linear
// layer.
struct StackOptions {
  std::int64_t channels = 16;
  std::int64_t size = 28;
};
Network stacked_network(int added, const StackOptions& options);

// A straight line through values at 0, 1, 2, ...
struct LineFit {
  double intercept = 0;
  double slope = 0;
  std::optional<double> r2;       // absent when all values are the same
  std::vector<double> residuals;  // (value - line) / value, one per value
  double mean_residual = 0;       // mean absolute
  double largest_residual = 0;    // largest absolute
};
// Least squares of the relative residuals, because noise is relative to the value; R^2 has the same weights.
// Expects two or more values, all above zero.
LineFit fit_line(const std::vector<double>& values);

// One value, measured once in each pass.
struct Repeated {
  std::vector<double> passes;
  double value() const;   // the median
  double spread() const;  // largest less smallest
};

// What one network cost in one mode, per iteration.
struct AdditivityPoint {
  Repeated energy_j;
  Repeated time_s;
};

// What the last added layer cost: the difference of the two medians, and how far the passes' own differences
// are apart.
struct Increment {
  double energy_j = 0;
  double spread_j = 0;
};

struct AdditivitySeries {
  MeasureMode mode = MeasureMode::kEager;
  std::vector<AdditivityPoint> points;  // with 0, 1, 2, ... layers added
  LineFit energy, time;
  const char* name() const;  // "eager" or "replay"
  // How far passes are apart on average, as a fraction of the energy: what no line can do better than.
  double mean_spread() const;
  // Expects a point before this one.
  Increment increment(std::size_t point) const;
};

// NeuralPower's way: the three phases of an iteration are each measured alone, eagerly, and added up.
struct PhasesPoint {
  Repeated forward_j, backward_j, update_j;
  double sum_j() const;     // of the medians
  double spread_j() const;  // of the passes' own sums
};

struct Additivity {
  std::vector<AdditivitySeries> series;
  std::vector<PhasesPoint>
      phases;  // empty when not asked for; else one per point, and the first series is eager
  int measurements = 0;
  int unstable = 0;  // of these, how many never met the target error
  bool modelled = false;

  // By how much the phases of a network add up to more than its eager iteration, as a fraction.
  double phases_over(std::size_t point) const;
};

struct AdditivityOptions {
  StackOptions stack;
  int added = 6;   // layers; at least 2, or every line would fit
  int passes = 3;  // at least 2, or there is no spread
  std::vector<MeasureMode> modes = {MeasureMode::kEager};
  bool phases = false;     // needs kEager as the first mode
  std::int64_t batch = 1;  // samples in one iteration
  MeasureOptions how;      // the mode is not used
  // Before each measurement: how many are done, and which network is next.
  std::function<void(int done, int of, const std::string& network)> progress;
};

// Every pass measures all networks, every other one from the largest to the smallest, so that a steady drift
// of the machine does not look like a cost of layers. Throws Error{kNoMeter} when no energy was measured,
// Error{kFailed} when a network cannot be replayed.
Additivity measure_additivity(const Measure& measure, const AdditivityOptions& options);

// `modes` maps names to networks and fits; `phases` is there when measured.
Json to_json(const Additivity& additivity);

}  // namespace ampere

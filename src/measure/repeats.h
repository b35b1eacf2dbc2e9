// The same network measured several times: what it costs, and how far the measurements lie apart.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/error.h"
#include "measure/measurement.h"

namespace ampere {

struct Repeat {
  Measurement measurement;
  double wall_s = 0;  // that it took in all: with building the network, the first with starting the worker
};

struct Repeats {
  std::vector<Repeat> all;     // in the order they were made; one at least
  std::optional<Error> ended;  // why there are fewer than were asked for
};

// Measures `count` times; `measure` builds the network anew each time. A failure is thrown only when it is
// the first measurement that fails: what was measured before it is worth telling.
Repeats measure_repeatedly(const std::function<Measurement()>& measure, int count);

// Standard deviation over mean; absent for fewer than two values.
std::optional<double> scatter(const std::vector<double>& values);
std::optional<double> energy_scatter(const Repeats& repeats);
std::optional<double> time_scatter(const Repeats& repeats);

// One measurement that stands for all: medians of the figures and of their errors, windows and iterations
// together, settled when all of them are.
Measurement median_of(const Repeats& repeats);

}  // namespace ampere

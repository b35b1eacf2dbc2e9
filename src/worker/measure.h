// What one iteration of a network costs, idle power, and plain training: the verbs that use the device.
#pragma once

#include <optional>

#include "measure/measurement.h"
#include "measure/request.h"
#include "worker/device.h"
#include "worker/meter_in_use.h"

namespace ampere::worker {

// The most memory that training the network takes: a few steps are made.
std::int64_t measure_memory(const Network& network, std::int64_t batch, const Recipe& recipe, Device& device);

// `source` may be null where the request does not ask for energy. Throws what Trainer and measure_windows
// throw.
Measurement measure(const MeasureRequest& request, Device& device, MeterInUse* source);

struct IdlePower {
  std::optional<double> power_w;  // absent when the counter stood still
  double seconds = 0;
};

// Power with the framework's context up and nothing running; remembered in `source`.
IdlePower measure_idle(double seconds, Device& device, MeterInUse& source);

struct TrainSummary {
  double loss_first = 0;
  double loss_last = 0;
  double time_s = 0;  // of all iterations
};

// Trains for real, at a learning rate at which the loss falls.
TrainSummary train(const Network& network, std::int64_t batch, const Recipe& recipe, std::int64_t iterations,
                   Device& device);

}  // namespace ampere::worker

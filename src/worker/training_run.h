// One network being trained on real data, a stretch at a time, so that several can take turns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "measure/recipe.h"
#include "network/network.h"
#include "worker/idx.h"
#include "worker/meter_in_use.h"
#include "worker/torch_device.h"

namespace ampere::worker {

// A data set on the device, as floats of mean 0 and deviation 1; read once for all runs.
class DeviceData;
std::shared_ptr<DeviceData> load_data(const std::string& folder, TorchDevice& device);

// What one stretch took. Testing is not part of it.
struct Stretch {
  double energy_j = 0;
  double time_s = 0;
  double loss = 0;  // of its last iteration
};

struct TestResult {
  double loss = 0;
  double accuracy = 0;  // share of test images told right
};

class TrainingRun {
 public:
  // Throws Error{kBadInput} when the network does not read such images or cannot tell so many classes.
  TrainingRun(const Network& network, std::int64_t batch, const Recipe& recipe,
              std::shared_ptr<DeviceData> data, TorchDevice& device);
  ~TrainingRun();

  // The meter is read before and after, with the device at rest, at its ticks where it has any.
  Stretch train(std::int64_t iterations, double learning_rate, MeterInUse& source);
  TestResult test();
  std::int64_t iterations() const { return iterations_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::int64_t iterations_ = 0;
};

}  // namespace ampere::worker

// Measuring a device itself, and no network in particular: layers of random networks, those first that tell
// the most about all others (curriculum.h), for as long as there is time.
#pragma once

#include <cstdint>
#include <functional>

#include "ampere/profile.h"
#include "measure/measure.h"
#include "model/device_profile.h"

namespace ampere {

struct DeviceRunOptions {
  MeasureOptions how;
  double seconds = 300;
  std::uint64_t seed = 1;
  // Called before each layer; `left_s` of the time is left.
  std::function<void(const DeviceSummary& so_far, double left_s, const std::string& layer)> progress;
};

// Each point is kept at once, beside the surfaces, as layers that are measured while estimating. What is in
// the store is known, so a run goes on where the one before was stopped. Layers too large for the device's
// memory are left out; anything else is thrown, with all earlier points kept.
DeviceSummary measure_device(DeviceProfile& profile, const Measure& measure, const DeviceRunOptions& options);

}  // namespace ampere

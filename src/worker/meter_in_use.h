// A meter that was opened for this worker's device, with what was learned of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "meter/characterise.h"
#include "meter/meter.h"
#include "worker/device.h"

namespace ampere::worker {

struct MeterInUse {
  std::unique_ptr<Meter> meter;
  std::optional<MeterCharacter> character;  // of a counter; a modelled meter needs none
  Watts idle{0};                            // as it was found last
  bool idle_known = false;
};

// Opens the meter and, for a counter, watches it for some ticks. An empty name means suitable_meter().
// Throws what open_meter throws.
MeterInUse use_meter(const std::string& name, const Device& device);

// $AMPERE_METER, else the most trusted available meter that sees the device: a GPU's counter says
// nothing of training on the CPU, nor a CPU's of training on a GPU.
std::string suitable_meter(const Device& device);

}  // namespace ampere::worker

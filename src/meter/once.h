// Metering work that is done once, such as a stretch of real training: there are no windows to repeat.
#pragma once

#include <functional>
#include <optional>

#include "meter/characterise.h"

namespace ampere {

struct MeteredOnce {
  Joules energy;
  Seconds time;
};

// A counter that ticks only says what was drawn up to its last tick. So the work begins at a tick, the
// counter is read at the first tick after it, and what the device draws at rest until then is taken off.
// `work` must return with the device at rest.
MeteredOnce meter_once(Meter& meter, const std::function<void()>& work,
                       const std::optional<MeterCharacter>& character, Watts idle, const Clock& clock = now);

}  // namespace ampere

// The first moments of repeated work: caches fill, power ramps, and the pace of an iteration becomes known.
#pragma once

#include "meter/window.h"

namespace ampere {

inline constexpr Seconds kShortestIteration{1e-9};

// Works for at least `length` and returns how long one iteration took towards the end.
Seconds warm_up(const Work& work, const Clock& clock, Seconds length);

}  // namespace ampere

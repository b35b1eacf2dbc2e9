// Finding the watts of the cpu-model meter with the help of a real one.
#pragma once

#include "meter/window.h"

namespace ampere {

// Runs `burn` (work that keeps cores busy) under the real meter and gives its energy per second of CPU time,
// which is what cpu-model multiplies by: so the model tells what this meter would have told, idle power
// included. `cpu` tells CPU time as energy at one watt per core (make_cpu_model_meter(Watts(1))). Throws
// Error{kBadInput} when `real` is itself modelled, Error{kUnstable} when the windows do not settle,
// Error{kNoMeter} when no CPU time passed.
Watts calibrate_cpu_watts(Meter& real, Meter& cpu, const Work& burn, const WindowOptions& options);

}  // namespace ampere

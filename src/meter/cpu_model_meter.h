// A modelled meter that works everywhere: CPU time times watts per busy core.
#pragma once

#include <memory>

#include "meter/meter.h"

namespace ampere {

// Watts of one busy core when nobody has said or calibrated better: a round figure between a laptop's
// (about 5) and a desktop's (about 15). It scales every figure alike, so comparisons do not depend on it.
inline constexpr double kDefaultWattsPerCore = 10.0;

// $AMPERE_CPU_WATTS, or the default. Throws Error{kBadInput} unless it is a number between 0.01 and 1000.
Watts cpu_watts_from_environment();

// Energy = CPU seconds of this process, all its threads and the children it has waited for, times
// `per_core`. Throws Error{kBadInput} for impossible watts.
std::unique_ptr<Meter> make_cpu_model_meter(Watts per_core);

}  // namespace ampere

// ampere detect --calibrate: the watts of the cpu-model meter, found with a real one.
#pragma once

#include <string>

#include "common.h"

namespace ampere {

// Keeps one core busy under the meter called `name` for some seconds, and prints the watts of a busy core and
// how to set them. The meter is opened here, not by a worker. Throws Error{kBadInput} for a meter that is
// modelled or does not see the CPU, Error{kNoMeter} and Error{kUnstable} as measuring does.
void run_calibrate(const std::string& name, const CommonOptions& options);

}  // namespace ampere

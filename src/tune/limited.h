// An estimate of a device as it comes, under a power limit or a locked clock.
#pragma once

#include "ampere/estimate.h"
#include "tune/lever_model.h"

namespace ampere {

// What the device does is stretched, what the host does is not; a device that waits draws what it does when
// idle. The interval holds what the levers leave open as well. `network`: as in LeverModel::under(). Throws
// Error{kBadInput} where the model cannot tell the setting, and for a CPU, which has no such levers.
Estimate limited(const Estimate& estimate, const LeverModel& levers, const PowerSetting& setting,
                 const std::string& network = "");

// The interval times a factor that is known up to a deviation of its logarithm.
Interval stretched(const Interval& interval, double factor, double deviation);

}  // namespace ampere

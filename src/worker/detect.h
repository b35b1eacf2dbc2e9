// What can train and what can be metered here, as the result of the "detect" verb.
#pragma once

#include <string>

#include "base/json.h"
#include "worker/device.h"

namespace ampere::worker {

// `threads` is what is asked for; the answer says how many really ran. `default_meter` is the
// worker's own default, or empty. `characterise` watches every usable meter for a second or two: how often
// it ticks, what a read costs, what the device draws idle with the framework up.
Json detect(Device& device, int threads, const std::string& default_meter, bool characterise);

}  // namespace ampere::worker

// Choosing a meter by name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meter/meter.h"

namespace ampere {

// Opens the meter called `name` ("cpu-model", "nvml:0,1", "nvml+rapl", "exec:COMMAND"); empty means
// $AMPERE_METER, or the default when that is not set. Throws Error{kBadInput} for a name nobody knows,
// listing the known ones, and Error{kNoMeter} for a meter that cannot be used here, with why and what to do
// about it.
std::unique_ptr<Meter> open_meter(const std::string& name);

// One meter as it is here. Where it cannot be used `why` says what is missing and the exact fix.
struct MeterStatus {
  MeterInfo info;
  bool available = false;
  std::string why;
  std::optional<Seconds> samples;  // how far apart those of power are that it keeps (sampled_window.h)
};

// All meters, the most trusted first. Opens each for a moment.
std::vector<MeterStatus> list_meters();

// The first in that list that is available: real counters come before the modelled one.
std::string default_meter_name();

// Whether a meter that was asked for as `asked` may call itself `told`: arguments are no part of what meters
// call themselves ("nvml:0" is "nvml"), and recorded readings tell the name of the meter they come from.
bool same_meter(const std::string& asked, const std::string& told);

}  // namespace ampere

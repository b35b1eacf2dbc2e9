// How far sums of layers are off whole networks on a device, learned from a few whole networks.
#pragma once

#include <string>
#include <vector>

#include "profile/device_profile.h"

namespace ampere {

// What was compared: the two figures that are reported, and on two clocks what they are made of.
enum class Part { kEnergy, kTime, kDeviceTime, kDeviceEnergy, kHostTime };

struct CompositionError {
  double log_bias = 0;      // whole over sum, logarithm
  double deviation = 0.07;  // relative; what we believe before any whole network was trained
  int networks = 0;         // whole networks behind it
};

// One whole network beside its estimate.
struct WholeCheck {
  double measured;
  double estimated;
};

// Weighs the checks against the belief that layers add up to within a few percent. Each check already
// contains the surfaces' own errors, so the deviation is on the safe side.
CompositionError learn_composition(const std::vector<WholeCheck>& checks);
// The same where little is believed beforehand: host times of probes do not add up well.
CompositionError learn_host_composition(const std::vector<WholeCheck>& checks);

// Kept in the store per method, family of networks and part; the belief where nothing is known.
CompositionError composition_of(DeviceProfile& profile, const std::string& method, const std::string& family,
                                Part part);
void keep_composition(DeviceProfile& profile, const std::string& method, const std::string& family, Part part,
                      const CompositionError& error);

}  // namespace ampere

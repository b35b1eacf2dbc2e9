// How far sums of layers are off whole networks on a device, learned from a few whole networks.
#pragma once

#include <string>
#include <vector>

#include "model/device_profile.h"

namespace ampere {

// What was compared: the two figures that are reported, and on two clocks what they are made of.
enum class Part { kEnergy, kTime, kDeviceTime, kDeviceEnergy, kHostTime };

struct CompositionError {
  double log_bias = 0;      // whole over sum, logarithm; where `reference_sum` is set, of a sum of that size
  double deviation = 0.07;  // relative; what we believe before any whole network was trained
  int networks = 0;         // whole networks behind it
  // Some of what a whole network adds is the same for small and large ones: that much, over `reference_sum`.
  double fixed_share = 0;
  double reference_sum = 0;  // size of the sums that were compared; 0: no fixed part

  // Of the whole over a sum of this size.
  double factor(double sum) const;
};

// One whole network beside the sum of its layers.
struct WholeComparison {
  double measured;
  double estimated;
  double variance = 0;  // of what was estimated, by the layers
};

// What is believed before any whole network was trained: standard deviations of what comes on top in
// proportion to the sum, and of what comes on top of each network alike, over the sum of one of middle size.
// A device that replays a network waits between replays, however narrow the layers are; times of a host add
// up less well.
struct CompositionBelief {
  double proportion, fixed;
};
inline constexpr CompositionBelief kOfWhole{0.06, 0}, kOfDevice{0.06, 0.06}, kOfHost{0.3, 0};

// One conjugate regression. What the layers were unsure of does not count against adding up.
CompositionError learn_composition(const std::vector<WholeComparison>& compared,
                                   const CompositionBelief& belief = kOfWhole);

// Kept in the store per method, family of networks and part; the belief where nothing is known.
CompositionError composition_of(const DeviceProfile& profile, const std::string& method,
                                const std::string& family, Part part);
void keep_composition(const DeviceProfile& profile, const std::string& method, const std::string& family,
                      Part part, const CompositionError& error);

}  // namespace ampere

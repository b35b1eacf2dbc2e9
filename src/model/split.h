// The parts that `split` adds up, each by itself, and how they make time and energy of an iteration.
#pragma once

#include <string>
#include <vector>

#include "model/composition.h"
#include "model/sum.h"

namespace ampere {

// Of one iteration, sums over layers.
struct SplitParts {
  double device_s = 0;  // G: the device works
  double device_j = 0;  // D: energy meanwhile
  double host_s = 0;    // H: the host issues; 0 on one clock
  double device_s_variance = 0, device_j_variance = 0, host_s_variance = 0;
  bool two_clocks = false;
  LayerSum times, energies;  // behind device_s and device_j
};

// The models must have the surfaces of split_plans(layers).
SplitParts split_parts(const LayerModels& models, const std::vector<Layer>& layers);

// What whole networks showed of each part, as factors on the sums.
struct SplitFactors {
  CompositionError device_s, device_j, host_s;
};
SplitFactors split_factors(const DeviceProfile& profile, const std::string& family);
void apply(const SplitFactors& factors, SplitParts& parts);

// Time of an iteration in which a device that needs `device_s` is issued its work in `host_s`: the longer of
// the two, and close to balance a little more, since now one and now the other is late.
double overlapped(double device_s, double host_s);
// The host time that makes an iteration take `time_s`; 0 when the device alone takes as long.
double host_behind(double time_s, double device_s);

struct Composed {
  double time_s = 0, energy_j = 0;
  double time_s_variance = 0, energy_j_variance = 0;
};
// T = overlapped(G, H); E = D + P_idle (T - G). On one clock T = G and E = D.
Composed compose(const SplitParts& parts, double idle_w);

}  // namespace ampere

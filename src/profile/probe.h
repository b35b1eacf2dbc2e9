// Measuring layers of one network while estimating it, where that tells more than the surfaces do.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "ampere/profile.h"
#include "layers/parse.h"
#include "profile/run.h"

namespace ampere {

struct ProbeOptions {
  MeasureOptions how;
  bool all = false;  // every layer; false: those that matter
  // A layer matters when its own uncertainty makes up more than this share of the network's energy, or when
  // nothing tells what it costs.
  double matters = 0.001;
  // Those that are least sure come first, until this time for each layer of the network is over; layers that
  // nothing tells are measured in any case.
  double seconds_a_layer = std::numeric_limits<double>::infinity();
  std::function<bool()> enough;  // asked before each layer; true ends the probing
  std::function<void(int done, int of)> progress;
};

// Keeps what it measures in the store, beside the surfaces: they are never fitted to probes while they have
// points of their own. Layers that do not fit the device's memory are left to the surfaces.
ProbeSummary probe_layers(DeviceProfile& profile, const std::vector<Layer>& layers, const Measure& measure,
                          const ProbeOptions& options);

}  // namespace ampere

// Measuring layers of one network while estimating it, where that tells more than the surfaces do.
#pragma once

#include <functional>
#include <vector>

#include "ampere/profile.h"
#include "layers/parse.h"
#include "profile/run.h"

namespace ampere {

struct ProbeOptions {
  MeasureOptions how;
  // An energy takes ten times as long as a time (PlaceOptions::sparse_energy).
  bool sparse_energy = false;
  bool energy = false;  // true: energies too; false: times, and energies only where a kind has none at all
  // A layer is measured when its own uncertainty makes up more than this share of the network's energy.
  double matters = 0.001;
  double energy_matters = 0.004;
  std::function<bool()> enough;  // asked before each layer; true ends the probing
  std::function<void(int done, int of)> progress;
};

// Keeps what it measures in the store, beside the surfaces: they are never fitted to probes while they have
// points of their own. Layers that do not fit the device's memory are left to the surfaces.
ProbeSummary probe_layers(DeviceProfile& profile, const std::vector<Layer>& layers, const Measure& measure,
                          const ProbeOptions& options);

}  // namespace ampere

// What a network will cost, with how sure we are.
#pragma once

#include <string>
#include <vector>

#include "ampere/estimate.h"
#include "layers/parse.h"
#include "model/layer_models.h"

namespace ampere {

// From mean and standard deviation. Costs are positive, so the interval is that of a log-normal.
Interval interval_of(double mean, double deviation);

// A way to profile and estimate: a row of the table in methods().
struct Method {
  const char* name;
  const char* description;
  // Learns from whole networks how well layers add up (composition.h); the published method does not.
  bool learns_composition;
  // Layers may be measured one by one while estimating (profile/probe.h).
  bool takes_probes;
  // Isolates layers by subtracting their neighbours (equations 1 and 2), and follows the paper's loop.
  bool subtracts;
  bool tells_eager;   // which training it can tell the cost of: issued by the host step by step,
  bool tells_replay;  // or captured once and replayed
  std::vector<SurfacePlan> (*plans)(const std::vector<Layer>& layers);
  // The plan of a surface that a store holds (surface_plan.h).
  SurfacePlan (*plan_of)(const StoredSurface& surface);
  // All surfaces of plans() must have points in the models' profile. `family` as family_of() tells it.
  // `mode`: how the network will be trained, eagerly or by replaying captured steps.
  Estimate (*estimate)(const LayerModels& models, const std::vector<Layer>& layers, const std::string& family,
                       MeasureMode mode);
};
const std::vector<Method>& methods();
// Throws Error{kBadInput} that lists the known ones.
const Method& find_method(const std::string& name);

// Throws Error{kBadInput} where the method cannot tell the cost of training in that mode.
void require_mode(const Method& method, MeasureMode mode);

// What the method knows of these layers.
LayerModels models_for(const DeviceProfile& profile, const Method& method, const std::vector<Layer>& layers,
                       Probes probes = Probes::kAll);
// Names of the method's surfaces that nobody has measured yet, nor anything that tells them.
std::vector<std::string> missing_surfaces(const LayerModels& models, const Method& method,
                                          const std::vector<Layer>& layers);

// The whole way: layers, surfaces, sum, and the composition error learned for this family of networks.
// A function of what the store holds for the device and recipe, of the network, and of these options; what
// was estimated before does not matter. Kinds that nobody measured are told by what else was measured on the
// device; throws Error{kNotProfiled} that lists every missing kind where nothing tells them.
Estimate estimate_network(const DeviceProfile& profile, const Method& method, const Network& network,
                          std::int64_t batch, MeasureMode mode = MeasureMode::kEager,
                          Probes probes = Probes::kAll);

}  // namespace ampere

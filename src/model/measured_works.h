// All points of a device that tell what calls cost, captured parts and layers at their channels alike, and
// layers as questions to what is learned from them (docs/one_model.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/device_profile.h"
#include "model/surface_plan.h"
#include "model/within_calls.h"
#include "model/work_model.h"

namespace ampere {

struct MeasuredWorks {
  std::vector<MeasuredWork> seen;
  bool energies = false;  // one of them has energy
  bool modelled = false;  // any energy comes from a model
  Relation relation;      // to where some of them were measured
};

// Points under the profile's recipe and under those that share its calls (shares_calls). Beyond
// kMostWorkPoints points, kMostPartWorks works of parts, or kMostDistinctWorks works of layers, it is a
// selection: of every kind its first place, then the places of each kind that are farthest from those. What a
// relative of the device has (model/relative.h) comes after them. `asked`: what the network that is asked
// about computes in. Where enough calls were timed in that, those that multiply in another are left out: they
// would tell little, and take their time.
MeasuredWorks measured_works(const DeviceProfile& profile, Computes asked);
// What they tell of all others.
std::shared_ptr<const WorkModel> model_of(const DeviceProfile& profile, MeasuredWorks measured);
inline constexpr std::size_t kMostWorkPoints = 2500;
inline constexpr std::size_t kMostDistinctWorks = 4000;
inline constexpr std::size_t kMostPartWorks = 8000;  // of captured parts
// Calls that were timed within training steps, beside those.
inline constexpr std::size_t kMostWithin = 2000;

// Whether the one model may tell what this surface would: captured parts, and layers alone for a whole
// iteration. Not the networks of several layers that the published method subtracts, nor parts of iterations.
bool told_by_works(const StoredSurface& surface);

// A layer at its channels as a question; absent for what its calls do not tell (work_of_part). Throws
// Error{kBadInput} for layers larger than any device.
std::optional<AskedWork> asked_work(const DeviceProfile& profile, const SurfacePlan& plan, Channels channels);

}  // namespace ampere

// What the layers of one network cost on a device, by the points in its profile. A pure function of those
// points, of the network's surfaces and of which probes count: nothing that was estimated before matters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/device_profile.h"
#include "model/surface_model.h"
#include "model/surface_plan.h"
#include "model/within_calls.h"
#include "model/work_model.h"

namespace ampere {

// Layers measured one by one while estimating (profile/probe.h), beside the surfaces: whether they count.
enum class Probes { kNone, kAll };

// Time the host takes to issue a layer. It depends on the kind, hardly on the channels.
struct HostTime {
  double mean = 0;
  double deviation = 0;  // standard error of the mean
};

// One layer of a network: its surface, and where on it.
struct LayerPlace {
  std::string key;
  Channels channels;
};

class LayerModels {
 public:
  // `plans`: all surfaces that a method needs for the network. The profile must outlive the models; points
  // that are added to it meanwhile count from then on.
  LayerModels(const DeviceProfile& profile, const std::vector<SurfacePlan>& plans,
              Probes probes = Probes::kAll);

  const DeviceProfile& profile() const { return profile_; }
  Probes probes() const { return probes_; }
  // Throws Error{kFailed} for a surface that is not among the plans.
  const SurfacePlan& plan(const std::string& key) const;

  bool knows(const std::string& key) const { return plans_.count(key) > 0; }

  // True when the surface and all that is subtracted from it have points or probes.
  bool has(const std::string& key) const;
  // True when it has, or when what else was measured on the device tells what this one costs
  // (docs/one_model.md).
  bool tells(const std::string& key) const;
  // Whether what else was measured tells this place, and not the surface itself: nothing was measured of it,
  // or at too few other channels.
  bool told(const std::string& key, Channels channels) const;
  // Of places that are told so.
  const WorkCosts& unmeasured(const std::vector<LayerPlace>& places) const;
  // The same without how sure that is, of thousands of places.
  WorkCosts unmeasured_means(const std::vector<LayerPlace>& places) const;
  // True when this very place was measured while estimating, and counts.
  bool probed(const std::string& key, Channels channels) const;
  // What the layer itself costs: neighbours and the empty iteration taken off. Places measured more than
  // once are averaged.
  std::vector<Observation> observations(const std::string& key, Quantity quantity) const;
  // Fitted on first use. Kinds that begin with the same op tell each other at which channels they step.
  // Throws Error{kNotProfiled} without points.
  const SurfaceModel& model(const std::string& key, Quantity quantity) const;
  // Energies at distinct places: told by the energies measured or, where times were measured without, as time
  // times power, which the one model tells.
  SurfacePrediction energies(const std::string& key, const std::vector<Channels>& places) const;
  HostTime host(const std::string& key) const;
  // True when any energy among the points comes from a model.
  bool modelled() const;

 private:
  std::vector<std::string> probes_of(const SurfacePlan& plan) const;
  std::size_t points_behind(const SurfacePlan& plan) const;
  bool all_have_energy(const SurfacePlan& plan) const;
  std::vector<Observation> observations_among(const std::string& stored, const SurfacePlan& plan,
                                              Quantity quantity) const;
  // By the points of the surface alone.
  const SurfaceModel& own_model(const std::string& key, Quantity quantity) const;
  const WorkModel* works() const;
  std::vector<AskedWork> asked_of(const std::vector<LayerPlace>& places) const;

  const DeviceProfile& profile_;
  std::map<std::string, SurfacePlan> plans_;
  std::string names_;                                      // of all plans
  std::map<std::string, std::vector<std::string>> alike_;  // plans by how their kind begins
  Computes computes_ = Computes::kFloat;
  Probes probes_;
};

}  // namespace ampere

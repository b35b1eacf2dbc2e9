// Everything learned about one device under one recipe: observations per surface, and the models
// fitted to them when asked for.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/power_model.h"
#include "model/surface_model.h"
#include "model/surface_plan.h"
#include "store/store.h"

namespace ampere {

enum class Quantity { kEnergy, kTime, kHost };

// Layers measured one by one while estimating (estimate/probe.h), beside the surfaces: which of them count.
enum class Probes { kNone, kTimes, kEnergies };
// What such a measurement is kept by.
std::string probe_key(const std::string& surface, Probes kind);

// Time the host takes to issue a layer. It depends on the kind, hardly on the channels.
struct HostTime {
  double mean = 0;
  double deviation = 0;  // standard error of the mean
};

class DeviceProfile {
 public:
  // The store must outlive the profile.
  DeviceProfile(Store& store, std::string device, std::string recipe);

  // Makes surfaces known by their key, so that neighbours can be found.
  void add_plans(const std::vector<SurfacePlan>& plans);
  const SurfacePlan& plan(const std::string& key) const;

  // Measured points of a surface, oldest first.
  const std::vector<StoredPoint>& points(const std::string& key);
  // Writes to the store and forgets the models that depended on the surface.
  void add_point(const StoredPoint& point);

  // Probes count by default; an evaluation compares estimates with and without them.
  void use_probes(Probes probes);

  // True when the surface and all that is subtracted from it have points or probes.
  bool has(const std::string& key);
  // What the layer itself costs: neighbours and the empty iteration taken off. Places measured more than
  // once are averaged.
  std::vector<Observation> observations(const std::string& key, Quantity quantity);
  // Fitted on first use. Throws Error{kNotProfiled} without points.
  const SurfaceModel& model(const std::string& key, Quantity quantity);
  // Where time was measured at more places than energy: told from the surface's own points alone, which is
  // quick enough for after every point.
  const PowerModel& own_power(const std::string& key);
  // Energies at distinct places: told by the energies measured or, where times were measured without, as time
  // times power.
  SurfacePrediction energies(const std::string& key, const std::vector<Channels>& places);
  HostTime host(const std::string& key);
  // An iteration that trains nothing; 0 when it was never measured.
  double empty(Quantity quantity);
  // True when a host issues the work to an accelerator.
  bool two_clocks();

  // True when any energy among the surface's points comes from a model.
  bool modelled();
  std::optional<double> idle_power_w();
  void set_idle_power_w(double watts, bool is_modelled);

  const std::string& device() const { return device_; }
  const std::string& recipe() const { return recipe_; }
  double fitting_seconds() const { return fitting_seconds_; }
  Store& store() { return store_; }

 private:
  bool all_have_energy(const std::string& key);
  std::vector<Observation> observations_among(const std::string& stored, const SurfacePlan& plan,
                                              Quantity quantity);
  std::vector<PowerObservation> powers_among(const std::string& stored);
  const PowerModel& power(const std::string& key, bool shared);
  const PowerModel::Others& shared_power();
  // Which kernels run where, as far as anything was measured there.
  void tell_kernels(const std::string& stored, PowerModel& power);
  void forget_models(const std::string& surface);

  Store& store_;
  std::string device_;
  std::string recipe_;
  std::map<std::string, SurfacePlan> plans_;
  std::map<std::string, std::vector<StoredPoint>> points_;
  std::map<std::pair<std::string, Quantity>, std::unique_ptr<SurfaceModel>> models_;
  std::map<std::pair<std::string, bool>, std::unique_ptr<PowerModel>> powers_;  // alone, or with the others
  PowerModel::Others shared_power_;
  std::size_t shared_kinds_ = 0, shared_points_ = 0;  // behind it
  Probes probes_ = Probes::kEnergies;
  double fitting_seconds_ = 0;
};

// The quantity of a measurement; absent where it was not measured.
std::optional<double> value_of(const Measurement& measurement, Quantity quantity);

}  // namespace ampere

// Everything learned about one device under one recipe: observations per surface, and the models
// fitted to them when asked for.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profile/store.h"
#include "profile/surface_model.h"
#include "profile/surface_plan.h"

namespace ampere {

enum class Quantity { kEnergy, kTime, kHost };

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

  // True when the surface and all that is subtracted from it have points.
  bool has(const std::string& key);
  // What the layer itself costs: neighbours and the empty iteration taken off. Places measured more than
  // once are averaged.
  std::vector<Observation> observations(const std::string& key, Quantity quantity);
  // Fitted on first use. Throws Error{kNotProfiled} without points.
  const SurfaceModel& model(const std::string& key, Quantity quantity);
  // An iteration that trains nothing; 0 when it was never measured.
  double empty(Quantity quantity);

  // True when any energy among the surface's points comes from a model.
  bool modelled();
  std::optional<double> idle_power_w();
  void set_idle_power_w(double watts, bool is_modelled);

  const std::string& device() const { return device_; }
  const std::string& recipe() const { return recipe_; }
  double fitting_seconds() const { return fitting_seconds_; }
  Store& store() { return store_; }

 private:
  Store& store_;
  std::string device_;
  std::string recipe_;
  std::map<std::string, SurfacePlan> plans_;
  std::map<std::string, std::vector<StoredPoint>> points_;
  std::map<std::pair<std::string, Quantity>, std::unique_ptr<SurfaceModel>> models_;
  double fitting_seconds_ = 0;
};

// The quantity of a measurement; absent where it was not measured.
std::optional<double> value_of(const Measurement& measurement, Quantity quantity);

}  // namespace ampere

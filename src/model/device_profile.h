// What the store holds of one device under one recipe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/data_sheet.h"
#include "store/store.h"
#include "work/layer_calls.h"

namespace ampere {

enum class Quantity { kEnergy, kTime, kHost };

struct FittedModels;  // layer_models.cc

// Reads points as they are asked for and keeps them; a second program that writes to the same store is not
// noticed. Not thread-safe.
class DeviceProfile {
 public:
  // The store must outlive the profile.
  DeviceProfile(Store& store, std::string device, std::string recipe);
  ~DeviceProfile();
  DeviceProfile(const DeviceProfile&) = delete;
  DeviceProfile& operator=(const DeviceProfile&) = delete;

  // Measured points of a surface, by its name, oldest first.
  const std::vector<StoredPoint>& points(const std::string& surface) const;
  void add_point(const StoredSurface& surface, Channels channels, const std::string& variant,
                 const Measurement& measurement);

  // Reads those of several surfaces with one question to the store, for points() to find.
  void fetch(const std::vector<std::string>& surfaces) const;

  // A fact of the device under this recipe.
  std::optional<Json> fact(const std::string& name) const;
  // After facts came into the store that this profile did not see.
  void forget_facts() const { facts_.reset(); }

  // All of the device, under whatever recipe, as Store::surfaces() tells them.
  const std::vector<SurfaceCount>& surfaces() const;

  // An iteration that trains nothing; 0 when it was never measured. Where it was not measured under this
  // recipe, that of another optimizer stands for it; of a device that is a sheet, what is believed of its
  // host.
  double empty(Quantity quantity) const;
  // True when a host issues the work to an accelerator.
  bool two_clocks() const;

  // How the device's framework makes its calls.
  const CallStyle& call_style() const;

  // What its vendor publishes of the device, where that is known. Throws Error{kBadInput} where the store has
  // one that cannot be true.
  const std::optional<DataSheet>& sheet() const;
  // True of a device that is nothing but its sheet: nobody can measure there.
  bool is_sheet() const;

  // As with empty(), that of another optimizer will do; of a device that is a sheet, as that says.
  std::optional<double> idle_power_w() const;
  void set_idle_power_w(double watts, bool is_modelled);

  const std::string& device() const { return device_; }
  const std::string& recipe() const { return recipe_; }
  Store& store() const { return store_; }
  // Spent on fitting models to the points, so far.
  double fitting_seconds() const;

 private:
  friend class LayerModels;
  const std::vector<StoredPoint>& empties() const;
  const std::optional<StoredDevice>& stored() const;
  std::optional<Json> fact_under(const std::string& recipe, const std::string& name) const;
  // Other recipes in the store that share their calls with this one.
  const std::vector<std::string>& alike() const;

  Store& store_;
  std::string device_;
  std::string recipe_;
  mutable std::map<std::string, std::vector<StoredPoint>> points_;
  mutable std::optional<std::vector<SurfaceCount>> surfaces_;
  // By recipe and name: all under this recipe, and that which makes it a sheet.
  mutable std::optional<std::map<std::pair<std::string, std::string>, Json>> facts_;
  mutable std::optional<StoredDevice> stored_;
  mutable std::optional<std::vector<std::string>> alike_;
  mutable std::optional<std::vector<StoredPoint>> others_empties_;
  mutable std::optional<CallStyle> style_;
  mutable std::optional<std::optional<DataSheet>> sheet_;  // once it was asked for
  mutable bool is_sheet_ = false;
  std::size_t added_ = 0;                 // points, since the profile was opened
  std::unique_ptr<FittedModels> fitted_;  // by what they were fitted to, so that networks can share them
};

// The fact of a device that says how much memory it has, in bytes.
inline constexpr const char* kMemoryFact = "memory";

// A store that knows nothing but this sheet, as a device of its own; kept in memory.
Store store_of_sheet(const DataSheet& sheet);

// The quantity of a measurement; absent where it was not measured.
std::optional<double> value_of(const Measurement& measurement, Quantity quantity);

}  // namespace ampere

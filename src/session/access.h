// What is behind the public classes, for the files that implement the public functions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ampere/device.h"
#include "ampere/model.h"
#include "model/device_profile.h"
#include "session/load_model.h"
#include "session/session.h"

namespace ampere {

struct Model::Impl {
  LoadedModel loaded;
  std::optional<std::int64_t> exported_batch;
};

struct ModelAccess {
  static const LoadedModel& loaded(const Model& model) { return model.impl_->loaded; }
  static Model make(LoadedModel loaded, std::optional<std::int64_t> exported_batch = std::nullopt);
};

struct Device::Impl {
  std::optional<Session> session;  // absent: from a store alone
  std::unique_ptr<Store> opened;   // where there is no session
  StoredDevice device;
  std::vector<std::string> notes;                                  // where there is no session
  std::map<std::string, std::unique_ptr<DeviceProfile>> profiles;  // by recipe

  Store& store() { return session ? *session->store : *opened; }
};

struct DeviceAccess {
  static Store& store(Device& device) { return device.impl_->store(); }
  static const StoredDevice& stored(const Device& device) { return device.impl_->device; }
  // As the worker tells it, or told it once; absent: it never did.
  static std::optional<double> memory(const Device& device);
  // Throws Error{kBadInput} for a device that is from a store alone; `what` cannot be done with it.
  static const Session& session(const Device& device, const std::string& what);
  // Kept, with the models that it fits.
  static DeviceProfile& profile(Device& device, const Recipe& recipe);
  // After points came into the store that a profile did not see.
  static void forget_models(Device& device) { device.impl_->profiles.clear(); }
};

// Throws Error{kBadInput} for a batch or a recipe that no worker would train.
void check(const TrainingSetup& setup);

// The path itself, or the default where it is empty. Throws Error{kBadInput} where there is no such file.
std::string existing_store(const std::string& path);

}  // namespace ampere

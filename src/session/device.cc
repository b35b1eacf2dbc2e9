#include "ampere/device.h"

#include "ampere/version.h"
#include "base/error.h"
#include "measure/recipe.h"
#include "session/access.h"
#include "session/memory.h"

namespace ampere {

const char* version() { return kVersion; }

std::string existing_store(const std::string& path) {
  std::string store = path.empty() ? default_store_path() : path;
  if (!store_exists(store)) throw bad_input(store + ": there is no such store");
  return store;
}

DeviceProfile& DeviceAccess::profile(Device& device, const Recipe& recipe) {
  const std::string word = stored_word(recipe, device.impl_->device.fingerprint);
  auto& profile = device.impl_->profiles[word];
  if (!profile)
    profile = std::make_unique<DeviceProfile>(device.impl_->store(), device.impl_->device.id, word);
  return *profile;
}

std::optional<double> DeviceAccess::memory(const Device& device) {
  return stored_memory(device.impl_->store(), device.impl_->device.id);
}

const Session& DeviceAccess::session(const Device& device, const std::string& what) {
  if (!device.impl_->session)
    throw bad_input(what + " takes a worker; open the device with Device::open(), not from its store alone");
  return *device.impl_->session;
}

Device::Device(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;
Device::~Device() = default;

Device Device::open(const DeviceOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->session =
      open_session({options.store.empty() ? default_store_path() : options.store,
                    options.worker.empty() ? default_worker_command() : options.worker, options.meter});
  impl->device = choose_device(*impl->session->store, impl->session->device_id);
  return Device(std::move(impl));
}

Device Device::stored(const std::string& store, const std::string& id) {
  auto impl = std::make_unique<Impl>();
  impl->opened = std::make_unique<Store>(Store::to_read(existing_store(store)));
  impl->device = choose_device(*impl->opened, id);
  return Device(std::move(impl));
}

std::string Device::name() const { return impl_->device.fingerprint.value("name", "?"); }
const std::string& Device::id() const { return impl_->device.id; }
std::string Device::meter() const { return impl_->device.fingerprint.value("meter", "?"); }
std::string Device::fingerprint() const { return impl_->device.fingerprint.dump(); }
const std::string& Device::store() const { return impl_->store().path(); }
bool Device::can_measure() const { return impl_->session.has_value(); }

std::optional<bool> Device::energy_modelled() const {
  // A device has one meter, so any energy tells.
  const Store& store = impl_->store();
  for (const SurfaceCount& surface : store.surfaces(impl_->device.id)) {
    for (const StoredPoint& p : store.points(impl_->device.id, surface.recipe, surface.surface.name)) {
      if (p.measurement.energy_j) return p.measurement.modelled;
    }
  }
  return std::nullopt;
}

const std::vector<std::string>& Device::notes() const {
  return impl_->session ? impl_->session->notes : impl_->notes;
}

std::vector<DeviceInfo> stored_devices(const std::string& store) {
  std::vector<DeviceInfo> devices;
  for (const StoredDevice& d : Store::to_read(existing_store(store)).devices())
    devices.push_back(
        {d.id, d.fingerprint.value("name", "?"), d.fingerprint.value("meter", "?"), d.last_used});
  return devices;
}

}  // namespace ampere

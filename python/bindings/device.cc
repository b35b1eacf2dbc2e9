#include "device.h"

namespace ampere::python {
namespace {

// Made where it stays, because threads wait at its address; Python owns it.
SharedDevice* open(const Path& store, const std::string& worker, const std::string& meter) {
  return unlocked([&] { return new SharedDevice(Device::open({store.string(), worker, meter})); });
}

SharedDevice* stored(const Path& store, const std::string& id) {
  return unlocked([&] { return new SharedDevice(Device::stored(store.string(), id)); });
}

SharedDevice* from_sheet(const Path& sheet) {
  return unlocked([&] { return new SharedDevice(Device::from_sheet(sheet.string())); });
}

// A getter of Device as one of SharedDevice.
template <auto kGetter>
auto get(SharedDevice& self) {
  using Value = std::decay_t<decltype((std::declval<Device&>().*kGetter)())>;
  return self.use([](Device& device) -> Value { return (device.*kGetter)(); });
}

}  // namespace

void bind_device(nb::module_& m) {
  nb::class_<SharedDevice>(
      m, "Device", "A device that networks are trained on, and what was measured there. Threads take turns.")
      .def_static(
          "open", &open, "store"_a = "", "worker"_a = "", "meter"_a = "",
          "Starts the worker, which ends with the device; can measure. Empty: $AMPERE_STORE, else "
          "profiles.db "
          "under the XDG data directory; $AMPERE_WORKER, else ampere-worker; the worker's default meter.")
      .def_static(
          "stored", &stored, "store"_a = "", "id"_a = "",
          "From a store alone; can estimate, not measure. `id` is that of a device in it, or how it starts; "
          "empty: the one used last.")
      .def_static(
          "from_sheet", &from_sheet, "sheet"_a,
          "From what its vendor publishes alone: a name such as \"h100\", or the path of a JSON file. "
          "Estimates are wide; `notes` says so.")
      .def_prop_ro("name", &get<&Device::name>, "\"NVIDIA H200\"")
      .def_prop_ro("id", &get<&Device::id>, "16 hex digits")
      .def_prop_ro("meter", &get<&Device::meter>, "\"nvml\"")
      .def_prop_ro("fingerprint", &get<&Device::fingerprint>, "all that the id stands for, as JSON")
      .def_prop_ro("store", &get<&Device::store>, "path of the store")
      .def_prop_ro("can_measure", &get<&Device::can_measure>)
      .def_prop_ro("energy_modelled", &get<&Device::energy_modelled>,
                   "whether energies are modelled and not measured; None: none was taken yet")
      .def_prop_ro("notes", &get<&Device::notes>, "what a user should know")
      .def("close", &SharedDevice::close, "Ends the worker. Closing again does nothing.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow<nb::object>(self); },
          nb::sig("def __enter__(self) -> Device"))
      .def(
          "__exit__", [](SharedDevice& self, nb::args) { self.close(); },
          nb::sig("def __exit__(self, *args: object) -> None"))
      .def("__repr__", [](SharedDevice& self) {
        return "Device(" + get<&Device::name>(self) + ", " + get<&Device::id>(self) + ")";
      });

  nb::class_<DeviceInfo>(m, "DeviceInfo", "A device of a store.")
      .def_ro("id", &DeviceInfo::id)
      .def_ro("name", &DeviceInfo::name)
      .def_ro("meter", &DeviceInfo::meter)
      .def_ro("last_used", &DeviceInfo::last_used, "UTC, ISO 8601")
      .def("__repr__", [](const DeviceInfo& i) { return "DeviceInfo(" + i.name + ", " + i.id + ")"; });
  m.def(
      "stored_devices",
      [](const Path& store) { return unlocked([&] { return stored_devices(store.string()); }); },
      "store"_a = "", "The devices of a store, the one used last first.");
}

}  // namespace ampere::python

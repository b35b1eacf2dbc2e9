// A device that networks are trained on, and what was measured there.
//
// Measurements are kept in a store, a single file, by device: hardware, driver, framework and meter. Whoever
// has the store can estimate; measuring takes a worker, the program that trains (`ampere-worker`, or one that
// speaks docs/protocol.md), which may run on another machine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ampere {

// How long work tells how far it is.
struct Step {
  std::string task = {};  // "profiling split", "training"
  int done = 0;
  int of = 0;
  std::optional<double> seconds_left = {};  // absent: the pace so far tells
  std::string what = {};                    // is being worked on
};
// Called on the thread that works, between two measurements; may be empty. What it throws ends the work and
// reaches the caller; everything measured until then is kept.
using OnStep = std::function<void(const Step&)>;

struct DeviceOptions {
  // Path of the store, made when it is not there. Empty: $AMPERE_STORE, else ampere/profiles.db under the XDG
  // data directory.
  std::string store = {};
  // Shell command that starts the worker, such as "ssh jetson ampere-worker". Empty: $AMPERE_WORKER, else the
  // ampere-worker beside this program or on the PATH.
  std::string worker = {};
  // Energy meter; empty: the worker's default (`ampere detect` lists them).
  std::string meter = {};
};

// A Device can be moved but not copied. It keeps the models that it has fitted, so a second estimate of the
// same kinds of layers takes milliseconds; measurements that another process adds to the store are seen by a
// Device that is opened later. One thread at a time may use it; two Devices are independent, even of one
// store.
class Device {
 public:
  // Starts the worker, which ends with the Device; can measure. Throws Error{kWorker} when it does not
  // answer, Error{kNoMeter} when it has no usable meter, Error{kBadInput} for a file that is no store,
  // Error{kFailed} for one that cannot be opened.
  static Device open(const DeviceOptions& options = {});
  // From a store alone; can estimate, not measure. `store` as in DeviceOptions, but it must be there. `id` is
  // that of a device in it, or how it starts; empty: the one used last. Throws Error{kNotProfiled} when
  // nothing was measured yet, Error{kBadInput} when there is no such store or id.
  static Device stored(const std::string& store = "", const std::string& id = "");
  // From what its vendor publishes alone, of hardware that nobody has measured: a name of data/devices.json
  // ("h100"), or the path of a JSON file with one such sheet. Estimates are wide, and told as modelled;
  // notes() says so. Throws Error{kBadInput} that lists the names where it is neither, or that names the
  // field that is wrong.
  static Device from_sheet(const std::string& sheet);

  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;
  ~Device();

  std::string name() const;         // "NVIDIA H200"
  const std::string& id() const;    // 16 hex digits
  std::string meter() const;        // "nvml"
  std::string fingerprint() const;  // all that the id stands for, as JSON
  const std::string& store() const;
  bool can_measure() const;
  // Whether the energies are modelled (CPU time times watts) and not measured; absent: none was taken yet.
  std::optional<bool> energy_modelled() const;
  // What a user should know, such as that some points come from another card of this name.
  const std::vector<std::string>& notes() const;

 private:
  struct Impl;
  friend struct DeviceAccess;
  explicit Device(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct DeviceInfo {
  std::string id;
  std::string name;
  std::string meter;
  std::string last_used;  // UTC, ISO 8601
};
// The devices of a store, the one used last first. `store` as of Device::stored(), and so are errors; none is
// an empty list.
std::vector<DeviceInfo> stored_devices(const std::string& store = "");

}  // namespace ampere

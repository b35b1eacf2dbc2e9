// A worker that has told what it runs on, and the store that its measurements are kept in.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "measure/measure.h"
#include "protocol/worker_client.h"
#include "store/store.h"

namespace ampere {

struct SessionOptions {
  std::string store;       // path of the file
  std::string worker;      // a shell command line
  std::string meter;       // empty: the worker's default
  double reconnect_s = 0;  // how long to wait for a worker that went away (WorkerOptions::reconnect_seconds)
  std::function<void(const std::string&)> on_notice = {};
};

struct Session {
  std::unique_ptr<WorkerClient> worker;
  std::unique_ptr<Store> store;  // null after open_worker()
  Json device;                   // the worker's description of the device
  Json fingerprint;              // what profiles are kept by
  std::string unit;              // which card of that name; empty where the worker does not say
  std::string device_id;
  std::string meter;
  bool keeps_power = false;        // the device does, so that an energy takes a quarter of a second
  std::vector<std::string> notes;  // what the user should know
  std::function<void(const std::string&)> on_notice;
  // Whether on_notice was told that heat slows the device down, and that it also slowed down a point that is
  // kept.
  std::shared_ptr<std::array<bool, 2>> told_of_heat = std::make_shared<std::array<bool, 2>>();

  // Waits for the device to cool down where it says that heat slows it down.
  Measure measure() const;
  // How layers are measured here: replayed where a host issues the work to an accelerator.
  MeasureMode profiling_mode() const;
  bool two_clocks() const { return profiling_mode() == MeasureMode::kReplay; }
};
// Throws Error{kNoMeter} when the worker has no meter.
Session open_session(const SessionOptions& options);
// The same without a store, for what is measured once and not kept.
Session open_worker(const SessionOptions& options);

// How the worker is started and how long it may take: AMPERE_WORKER_TIMEOUT, in seconds, replaces all
// its limits. AMPERE_RECORD names a file that the conversation is kept in.
WorkerOptions worker_options(const std::string& command);

[[noreturn]] void answered_nonsense(const WorkerClient& worker, const std::string& why);

// Reads a worker's answer; one that is not as docs/protocol.md says is the worker's fault, not the user's.
template <class Read>
auto read_answer(const WorkerClient& worker, const Read& read) {
  try {
    return read();
  } catch (const Error& e) {
    answered_nonsense(worker, e.what());
  } catch (const Json::exception&) {
    answered_nonsense(worker, "a field is missing or of another type");
  }
}

// What profiles are kept by: the hardware, driver, framework and meter.
Json fingerprint_of(const Json& device, const std::string& meter);
// Keeps in the store which card it was that points come from. Cards of one name share a profile but do not
// draw the same power; open_session notes where points come from another.
void remember_unit(const Session& session);

// {"schema_version", "device", "meter", "modelled"}: what every JSON output starts with.
inline constexpr int kOutputSchemaVersion = 1;
Json json_header(const Json& fingerprint, bool modelled);

// The device used last of those that anything was measured on; relatives of others only where there is none.
std::optional<StoredDevice> latest_device(const Store& store);
// The stored device to estimate for when no worker is asked: the named one, or the one used last.
// Throws Error{kNotProfiled} when there is none.
StoredDevice choose_device(const Store& store, const std::string& id);
// The same, but of a store without any an empty one, of which nothing is known: what is missing can then be
// told by the network that is asked for.
StoredDevice device_asked_for(const Store& store, const std::string& id);

}  // namespace ampere

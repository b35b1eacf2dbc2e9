// Options that several verbs share, and the session that they open: worker, store, device.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "estimate/estimate.h"
#include "import/import.h"
#include "network/zoo.h"
#include "profile/run.h"
#include "protocol/worker_client.h"

namespace ampere {

inline constexpr int kOutputSchemaVersion = 1;

struct CommonOptions {
  std::string store;   // default_store_path()
  std::string worker;  // default_worker_command()
  std::string meter;   // empty: the worker's default
  std::string device;  // id of a stored device; empty: the last one used
  bool json = false;
  bool quiet = false;
};

struct ModelOptions {
  std::string model;
  std::int64_t batch = 1;           // a file that fixes its batch changes this, --batch both
  std::vector<std::string> inputs;  // shapes that a TorchScript file is run with
  std::vector<std::string> dims;    // "name=size", of imported files
  ImportOptions import;
  Recipe recipe;
  std::string autotune = "off";
};

void add_output_options(CLI::App& verb, CommonOptions& options);
void add_store_options(CLI::App& verb, CommonOptions& options);
void add_device_option(CLI::App& verb, CommonOptions& options);  // where no worker is asked
void add_worker_option(CLI::App& verb, CommonOptions& options);  // where nothing is metered
void add_worker_options(CLI::App& verb, CommonOptions& options);
void add_model_options(CLI::App& verb, ModelOptions& options);
void add_recipe_options(CLI::App& verb, ModelOptions& options);

// A MODEL argument: a zoo name, or a .json, .onnx or .pt file.
struct Model {
  Network network;
  std::optional<ZooChoice> zoo;  // present for networks of the zoo
  // Of imported files:
  std::vector<std::string> notes;          // told on standard error already
  std::vector<UnsupportedOp> unsupported;  // that were left out (--ignore-unsupported)
  double ignored_flops_share = 0;
};
// A TorchScript file is run by the worker of `common`.
Model load_model(const ModelOptions& options, const CommonOptions& common);

// A worker that has told what it runs on, and the profile of that device.
struct Session {
  std::unique_ptr<WorkerClient> worker;
  std::unique_ptr<Store> store;
  Json device;       // the worker's description of the device
  Json fingerprint;  // what profiles are kept by
  std::string unit;  // which card of that name; empty where the worker does not say
  std::string device_id;
  std::string meter;

  Measure measure() const;
  MeasureMode probe_mode() const;
};
// Throws Error{kNoMeter} when the worker has no meter.
Session open_session(const CommonOptions& options);
// The same without a store, for what is measured once and not kept.
Session open_worker(const CommonOptions& options);

// How the worker is started and how long it may take: AMPERE_WORKER_TIMEOUT, in seconds, replaces all
// its limits. AMPERE_RECORD names a file that the conversation is kept in.
WorkerOptions worker_options(const CommonOptions& options);
// Reads a worker's answer; one that is not as docs/protocol.md says is the worker's fault, not the user's.
template <class Read>
auto read_answer(const WorkerClient& worker, const Read& read) {
  try {
    return read();
  } catch (const Error& e) {
    throw Error(ErrorKind::kWorker, "the worker (" + worker.command() + ") answered nonsense (" + e.what() +
                                        "); see docs/protocol.md");
  }
}

// What profiles are kept by: the hardware, driver, framework and meter.
Json fingerprint_of(const Json& device, const std::string& meter);
// Keeps in the store which card it was that points come from. Cards of one name share a profile but do not
// draw the same power; open_session warns where points come from another.
void remember_unit(const Session& session);

// The device used last of those that anything was measured on.
std::optional<StoredDevice> latest_device(const Store& store);
// The stored device to estimate for when no worker is asked: the named one, or the one used last.
// Throws Error{kNotProfiled} when there is none.
StoredDevice choose_device(const Store& store, const std::string& id);

// {"schema_version", "device", "meter", "modelled"}: what every JSON output starts with.
Json json_header(const Json& fingerprint, bool modelled);
void print_json(const Json& json);
// A path of --output that cannot be written is told before the training, not after it.
void require_writable(const std::string& path);
void write_file(const std::string& path, const std::string& text);
void warn(const std::string& message);

}  // namespace ampere

// Options that several verbs share, and what all of them print.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "ampere/device.h"
#include "base/error.h"
#include "base/files.h"
#include "estimate/estimate.h"
#include "session/load_model.h"
#include "session/profiling.h"
#include "session/session.h"

namespace ampere {

struct CommonOptions {
  std::string store;             // default_store_path()
  std::string worker;            // default_worker_command()
  std::string meter;             // empty: the worker's default
  std::string device;            // id of a stored device; empty: the last one used
  std::string reconnect = "0s";  // how long to wait for a worker that went away
  bool json = false;
  bool quiet = false;
  bool progress_json = false;  // progress as lines of JSON, for programs
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
void add_reconnect_option(CLI::App& verb, CommonOptions& options);  // where measuring takes long
// `batches`: several may be given, 8,32,128.
void add_model_options(CLI::App& verb, ModelOptions& options, std::vector<std::int64_t>* batches = nullptr);
void add_recipe_options(CLI::App& verb, ModelOptions& options);
void add_profiling_options(CLI::App& verb, ProfilingOptions& options);

// What an import or opening a session has to say goes to standard error.
LoadedModel load_model(const ModelOptions& options, const CommonOptions& common);
Session open_session(const CommonOptions& options);
Session open_worker(const CommonOptions& options);

// Of --power-limit: "300" or "300W".
double limit_watts(const std::string& text);

// What is measured while a server is away waits in a file. Before this goes, that is brought there, or told.
class UntilDelivered {
 public:
  explicit UntilDelivered(Store& store) : store_(store) {}
  ~UntilDelivered();
  UntilDelivered(const UntilDelivered&) = delete;
  UntilDelivered& operator=(const UntilDelivered&) = delete;

 private:
  Store& store_;
};

TrainingSetup setup_of(const ModelOptions& options);
// Progress bars on standard error, one for each task.
OnStep shown(bool quiet);
// The same, or as lines of JSON where that is asked for; nothing with --json or --quiet alone.
OnStep shown(const CommonOptions& options);

void print_json(const Json& json);
void warn(const std::string& message);

}  // namespace ampere

#include "common.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "import/torchscript.h"
#include "network/network_json.h"
#include "network/shape.h"
#include "script_model.h"

namespace ampere {

void add_output_options(CLI::App& verb, CommonOptions& o) {
  verb.add_flag("--json", o.json, "Print JSON instead of text");
  verb.add_flag("-q,--quiet", o.quiet, "No progress on standard error");
}

void add_store_options(CLI::App& verb, CommonOptions& o) {
  o.store = default_store_path();
  verb.add_option("--store", o.store, "File that measurements are kept in [AMPERE_STORE]");
}

void add_device_option(CLI::App& verb, CommonOptions& o) {
  verb.add_option("--device", o.device, "Id of a device in the store (see ampere store list)");
}

void add_worker_option(CLI::App& verb, CommonOptions& o) {
  o.worker = default_worker_command();
  verb.add_option("--worker", o.worker,
                  "Command of the worker, e.g. \"ssh jetson ampere-worker\" [AMPERE_WORKER]");
}

void add_worker_options(CLI::App& verb, CommonOptions& o) {
  add_worker_option(verb, o);
  verb.add_option("--meter", o.meter, "Energy meter (see ampere detect)")->envname("AMPERE_METER");
}

void add_recipe_options(CLI::App& verb, ModelOptions& o) {
  verb.add_option("--optimizer", o.recipe.optimizer, "sgd, momentum or adam")
      ->check(CLI::IsMember({"sgd", "momentum", "adam"}));
  verb.add_option("--precision", o.recipe.precision, "fp32, tf32 or bf16")
      ->check(CLI::IsMember({"fp32", "tf32", "bf16"}));
  verb.add_option("--autotune", o.autotune, "on: let the framework time its kernels and keep the fastest")
      ->check(CLI::IsMember({"on", "off"}));
  verb.add_option("--threads", o.recipe.threads, "CPU threads")->check(CLI::Range(1, 4096));
  verb.add_option("--seed", o.recipe.seed, "Seed of weights and data");
  verb.add_flag("--deterministic", o.recipe.deterministic, "Deterministic kernels only");
  verb.parse_complete_callback([&o] { o.recipe.autotune = o.autotune == "on"; });
}

void add_model_options(CLI::App& verb, ModelOptions& o) {
  // Options are taken in the order they were added, so --batch has the last word.
  verb.add_option("MODEL", o.model, "Network: a zoo name or a .json, .onnx or .pt file")
      ->required()
      ->each([&o](const std::string& text) {
        if (is_onnx_path(text)) o.batch = onnx_batch(text).value_or(o.batch);
      });
  verb.add_option("-b,--batch", o.batch, "Batch size; 1, or what an .onnx file was exported with")
      ->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  verb.add_option("--input", o.inputs, "Shape a .pt file reads, for each input: 3x224x224, int:128, 35xNx200")
      ->allow_extra_args(false);
  verb.add_option("--dim", o.dims, "Size of a dimension that an .onnx file only names: NAME=SIZE")
      ->allow_extra_args(false);
  verb.add_flag("--restore-batchnorm", o.import.restore_batchnorm,
                "Put back batch norms that an export for inference folded");
  verb.add_flag("--ignore-unsupported", o.import.ignore_unsupported,
                "Go on without the ops of an imported file that are not supported");
}

namespace {

ImportOptions import_options(const ModelOptions& o) {
  ImportOptions out = o.import;
  for (const std::string& text : o.dims) {
    const std::size_t equals = text.find('=');
    char* end = nullptr;
    const std::string number = equals == std::string::npos ? "" : text.substr(equals + 1);
    const long long size = std::strtoll(number.c_str(), &end, 10);
    if (equals == 0 || number.empty() || *end != '\0' || size < 1 || size > kMaxWidth)
      throw bad_input("--dim must be NAME=SIZE with a size of 1 to 16777216, found \"" + text + "\"");
    out.dims[text.substr(0, equals)] = size;
  }
  return out;
}

// What an import has to say goes to standard error.
Model told(const ModelOptions& o, Imported imported) {
  if (!imported.unsupported.empty()) {
    char share[32];
    std::snprintf(share, sizeof share, "%.2g%%", 100 * imported.ignored_flops_share);
    std::string list;
    for (const UnsupportedOp& u : imported.unsupported) list += (list.empty() ? "" : ", ") + u.op;
    imported.notes.push_back("goes on without " + list + ": about " + share + " of the forward pass's FLOPs");
  }
  for (const std::string& note : imported.notes) warn(o.model + ": " + note);
  return {std::move(imported.network), std::nullopt, std::move(imported.notes),
          std::move(imported.unsupported), imported.ignored_flops_share};
}

}  // namespace

Model load_model(const ModelOptions& options, const CommonOptions& common) {
  const std::string& text = options.model;
  if (is_torchscript_path(text)) {
    if (!options.dims.empty() || options.import.restore_batchnorm)
      throw bad_input("--dim and --restore-batchnorm go with .onnx files only");
    return told(options,
                load_script(text, options.inputs, options.batch, options.import, worker_options(common)));
  }
  if (!options.inputs.empty()) throw bad_input("--input goes with TorchScript files (.pt, .pth) only");
  if (is_onnx_path(text)) return told(options, import_onnx(text, import_options(options)));
  if (!options.dims.empty() || options.import.restore_batchnorm || options.import.ignore_unsupported)
    throw bad_input("--dim, --restore-batchnorm and --ignore-unsupported go with imported files only");
  const bool file = text.size() > 5 && text.substr(text.size() - 5) == ".json";
  if (file) {
    Network network = read_network_file(text);
    try {
      infer_shapes(network, 1);  // told with the name of the file
    } catch (const Error& e) {
      throw Error(e.kind(), text + ": " + e.what());
    }
    return {std::move(network), std::nullopt, {}, {}, 0};
  }
  if (text.find('/') != std::string::npos || std::ifstream(text).good()) {
    throw bad_input(
        text + ": a network file must end in .json, .onnx or .pt; zoo networks are listed by: ampere models");
  }
  ZooChoice choice = parse_zoo(text);
  Network network = build(choice);
  return {std::move(network), std::move(choice), {}, {}, 0};
}

Measure Session::measure() const {
  return [client = worker.get()](const MeasureRequest& request) { return client->measure(request); };
}

MeasureMode Session::probe_mode() const {
  return device.value("type", "cpu") == "cuda" ? MeasureMode::kReplay : MeasureMode::kEager;
}

Json fingerprint_of(const Json& device, const std::string& meter) {
  Json f = Json::object();
  for (const char* key : {"name", "type", "cores", "driver", "framework", "blas", "allocator"}) {
    if (device.contains(key)) f[key] = device[key];
  }
  f["meter"] = meter;
  return f;
}

WorkerOptions worker_options(const CommonOptions& options) {
  WorkerOptions w;
  w.command = options.worker;
  if (const char* record = std::getenv("AMPERE_RECORD")) w.record = record;
  const char* text = std::getenv("AMPERE_WORKER_TIMEOUT");
  if (!text || !*text) return w;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != '\0' || !(seconds > 0)) {
    throw bad_input(std::string("AMPERE_WORKER_TIMEOUT must be a number of seconds above 0, found \"") +
                    text + "\"");
  }
  w.hello_seconds = w.reply_seconds = w.measure_margin = w.trace_seconds = seconds;
  return w;
}

Session open_worker(const CommonOptions& options) {
  Session s;
  s.worker = std::make_unique<WorkerClient>(worker_options(options));
  const Json found = s.worker->detect();
  read_answer(*s.worker, [&] {
    JsonReader r(found, "detect");
    s.device = r.object("device");
    s.meter = options.meter.empty() ? r.text("default_meter", "") : options.meter;
    s.unit = JsonReader(s.device, "device").text("unit", "");
  });
  if (s.meter.empty())
    throw Error(ErrorKind::kNoMeter, "the worker has no usable energy meter; see: ampere detect");
  s.fingerprint = fingerprint_of(s.device, s.meter);
  return s;
}

namespace {

constexpr const char* kUnits = "units";

std::vector<std::string> known_units(const Session& session) {
  std::vector<std::string> units;
  const auto stored = session.store->fact(session.device_id, "", kUnits);
  if (!stored || !stored->is_array()) return units;
  for (const Json& unit : *stored) {
    if (unit.is_string()) units.push_back(unit.get<std::string>());
  }
  return units;
}

void warn_of_other_units(const Session& session) {
  if (session.unit.empty()) return;
  for (const std::string& unit : known_units(session)) {
    if (unit == session.unit) continue;
    warn(fmt::format(
        "some of this profile was measured on another card of this name ({}); such cards can differ by "
        "several percent in energy. For a profile of this one ({}) use another --store",
        unit, session.unit));
    return;
  }
}

}  // namespace

void remember_unit(const Session& session) {
  std::vector<std::string> units = known_units(session);
  if (session.unit.empty() || std::find(units.begin(), units.end(), session.unit) != units.end()) return;
  units.push_back(session.unit);
  session.store->put_fact(session.device_id, "", kUnits, units);
}

Session open_session(const CommonOptions& options) {
  auto store = std::make_unique<Store>(options.store);
  Session s = open_worker(options);
  s.store = std::move(store);
  s.device_id = s.store->add_device(s.fingerprint);
  warn_of_other_units(s);
  return s;
}

std::optional<StoredDevice> latest_device(const Store& store) {
  for (const StoredDevice& d : store.devices()) {
    if (!store.surfaces(d.id).empty()) return d;
  }
  return std::nullopt;
}

StoredDevice choose_device(const Store& store, const std::string& id) {
  if (id.empty()) {
    if (auto latest = latest_device(store)) return *latest;
    throw Error(ErrorKind::kNotProfiled,
                store.path() + ": no device was profiled yet; run: ampere profile MODEL --batch N");
  }
  for (const StoredDevice& d : store.devices()) {
    if (d.id.rfind(id, 0) == 0) return d;
  }
  throw bad_input("no device in " + store.path() + " has the id " + id + "; see: ampere store list");
}

Json json_header(const Json& fingerprint, bool modelled) {
  return {{"schema_version", kOutputSchemaVersion},
          {"device", fingerprint},
          {"meter", fingerprint.value("meter", "")},
          {"modelled", modelled}};
}

void print_json(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

void require_writable(const std::string& path) {
  if (!std::ofstream(path, std::ios::app))
    throw bad_input(path + ": cannot be written; check the folder of --output");
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw Error(ErrorKind::kFailed, path + ": cannot be written");
}

void warn(const std::string& message) { std::fprintf(stderr, "ampere: %s\n", message.c_str()); }

}  // namespace ampere

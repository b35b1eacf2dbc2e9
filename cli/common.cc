#include "common.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "base/error.h"
#include "base/plain_text.h"
#include "base/quantity_text.h"
#include "progress.h"
#include "text.h"

namespace ampere {

void add_output_options(CLI::App& verb, CommonOptions& o) {
  verb.add_flag("--json", o.json, "Print JSON instead of text");
  verb.add_flag("-q,--quiet", o.quiet, "No progress on standard error");
}

void add_store_options(CLI::App& verb, CommonOptions& o) {
  o.store = default_store_path();
  verb.add_option("--store", o.store,
                  "File that measurements are kept in, or postgresql://... [AMPERE_STORE]")
      ->check([](const std::string& path) -> std::string {
        if (path.empty()) return "must name a file";
        require_store_path(path);
        return "";
      });
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
  verb.add_option("--meter", o.meter, "Energy meter (see ampere detect)")
      ->envname("AMPERE_METER")
      ->check([](const std::string& name) -> std::string {
        return is_utf8(name) ? "" : "the name of a meter is text, and this is not UTF-8; see: ampere detect";
      });
}

void add_reconnect_option(CLI::App& verb, CommonOptions& o) {
  o.reconnect = "10min";
  verb.add_option("--reconnect", o.reconnect,
                  "How long to wait for a worker that went away, e.g. 1h; 0s: not [10min]");
}

void add_recipe_options(CLI::App& verb, ModelOptions& o) {
  verb.add_option("--optimizer", o.recipe.optimizer,
                  "sgd, momentum, adam; captured: as the network file says")
      ->check(CLI::IsMember(kOptimizers));
  verb.add_option("--precision", o.recipe.precision, "default: as PyTorch comes; fp32 (strict), tf32 or bf16")
      ->check(CLI::IsMember(kPrecisions));
  verb.add_option("--autotune", o.autotune, "on: let the framework time its kernels and keep the fastest")
      ->check(CLI::IsMember({"on", "off"}));
  verb.add_option("--threads", o.recipe.threads, "CPU threads")->check(CLI::Range(1, 4096));
  verb.add_option("--seed", o.recipe.seed, "Seed of weights and data");
  verb.add_flag("--deterministic", o.recipe.deterministic, "Deterministic kernels only");
  verb.parse_complete_callback([&o] { o.recipe.autotune = o.autotune == "on"; });
}

void add_model_options(CLI::App& verb, ModelOptions& o, std::vector<std::int64_t>* batches) {
  // Options are taken in the order they were added, so --batch has the last word.
  verb.add_option("MODEL", o.model, "Network: a zoo name or a .json, .onnx or .pt file")
      ->required()
      ->each([&o](const std::string& text) {
        if (is_onnx_path(text)) o.batch = onnx_batch(text).value_or(o.batch);
      });
  if (batches) {
    verb.add_option("-b,--batch", *batches, "Batch size, or several: 8,32,128; 1, or that of an .onnx file")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  } else {
    verb.add_option("-b,--batch", o.batch, "Batch size; 1, or what an .onnx file was exported with")
        ->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  }
  verb.add_option("--input", o.inputs, "Shape a .pt file reads, for each input: 3x224x224, int:128, 35xNx200")
      ->allow_extra_args(false);
  verb.add_option("--dim", o.dims, "Size of a dimension that an .onnx file only names: NAME=SIZE")
      ->allow_extra_args(false);
  verb.add_flag("--restore-batchnorm", o.import.restore_batchnorm,
                "Put back batch norms that an export for inference folded");
  verb.add_flag("--ignore-unsupported", o.import.ignore_unsupported,
                "Go on without the ops of an imported file that are not supported");
}

void add_profiling_options(CLI::App& verb, ProfilingOptions& o) {
  verb.add_option("--points-1d", o.points_1d, "Most points of a surface over one channel number")
      ->check(CLI::Range(2, 1000));
  verb.add_option("--points-2d", o.points_2d, "Most points of a surface over two")
      ->check(CLI::Range(4, 1000));
  verb.add_option("--energy-points-1d", o.energy_points_1d,
                  "Of those, most with energy, where the meter is slow")
      ->check(CLI::Range(1, 1000));
  verb.add_option("--energy-points-2d", o.energy_points_2d, "The same of surfaces over two")
      ->check(CLI::Range(1, 1000));
  verb.add_option("--deviation", o.target_deviation,
                  "A surface is known when its standard deviation is below this share")
      ->check(CLI::Range(0.001, 1.0));
  verb.add_option("--guide", o.guide, "What the next point is chosen by: variance of time or of energy")
      ->check(CLI::IsMember({"time", "energy"}));
  verb.add_option("--whole-networks,--checks", o.whole_networks,
                  "Whole networks trained beside it, to learn how well layers add up")
      ->check(CLI::Range(0, 1000));
  verb.add_option("--point-seconds", o.budget_s, "Seconds of training per point")
      ->check(CLI::Range(0.05, 600.0));
  verb.add_option("--point-error", o.target_error, "Relative standard error at which a point is done")
      ->check(CLI::Range(1e-4, 0.5));
}

LoadedModel load_model(const ModelOptions& o, const CommonOptions& common) {
  ModelSource source{o.model, o.batch, o.inputs, o.import};
  for (const std::string& text : o.dims) read_dimension(text, source.import);
  LoadedModel model = load_model(source, worker_options(common.worker));
  for (const std::string& note : model.notes) warn(o.model + ": " + note);
  return model;
}

namespace {

// Told in a line of its own, not behind a progress bar.
void told_between_bars(const std::string& message) {
  if (can_redraw()) std::fputs("\r\x1b[K", stderr);
  warn(message);
}

SessionOptions session_options(const CommonOptions& o) {
  return {o.store, o.worker, o.meter, parse_duration(o.reconnect, "--reconnect").value(), told_between_bars};
}

}  // namespace

Session open_session(const CommonOptions& o) {
  Session session = open_session(session_options(o));
  for (const std::string& note : session.notes) warn(note);
  return session;
}

Session open_worker(const CommonOptions& o) { return open_worker(session_options(o)); }

double limit_watts(const std::string& text) {
  const bool bare = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
  return parse_power(bare ? text + "W" : text, "--power-limit").value();
}

UntilDelivered::~UntilDelivered() {
  const std::string file = store_.aside();
  if (file.empty()) return;
  try {
    if (std::uncaught_exceptions() == 0) store_.deliver();
  } catch (const Error&) {  // it waits on
  }
  if (store_.aside().empty()) return;
  warn(store_.path() + ": away; what was measured since then waits in " + file +
       " and is delivered by the next run, or by: ampere store deliver --store " + store_.path());
}

TrainingSetup setup_of(const ModelOptions& o) { return {o.batch, o.recipe}; }

OnStep shown(bool quiet) {
  const auto bar = std::make_shared<std::unique_ptr<Progress>>();
  const auto task = std::make_shared<std::string>();
  return [=](const Step& step) {
    if (!*bar || *task != step.task) {
      *bar = std::make_unique<Progress>(step.task, quiet);
      *task = step.task;
    }
    if (step.seconds_left)
      (*bar)->show(step.done, step.of, *step.seconds_left, step.what);
    else
      (*bar)->show(step.done, step.of, step.what);
  };
}

OnStep shown(const CommonOptions& o) {
  if (!o.progress_json) return shown(o.quiet || o.json);
  return [](const Step& step) {
    const Json line = {{"task", step.task},
                       {"done", step.done},
                       {"of", step.of},
                       {"seconds_left", step.seconds_left ? Json(*step.seconds_left) : Json()},
                       {"what", step.what}};
    std::fputs((line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n").c_str(), stderr);
  };
}

void print_json(const Json& json) {
  std::puts(plain_json(json.dump(2, ' ', false, Json::error_handler_t::replace)).c_str());
}

void warn(const std::string& message) { put_message(message); }

}  // namespace ampere

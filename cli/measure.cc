// ampere measure: trains a network for real and tells what an iteration cost.
#include <fmt/core.h>

#include <memory>

#include "base/error.h"
#include "common.h"
#include "network/shape.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct Options {
  CommonOptions common;
  ModelOptions model;
  double seconds = 5;
  double target_error = 0.01;
  std::string mode = "eager";
};

void run(const Options& o) {
  const Model model = load_model(o.model.model);
  infer_shapes(model.network, o.model.batch);
  WorkerClient worker(worker_options(o.common));
  MeasureRequest request;
  request.network = model.network;
  request.batch = o.model.batch;
  request.recipe = o.model.recipe;
  request.meter = o.common.meter;
  request.mode = o.mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
  request.budget_s = o.seconds;
  request.target_error = o.target_error;
  request.min_windows = 5;
  const Measurement m = worker.measure(request);
  if (o.common.json) {
    Json out = to_json(m);
    out["schema_version"] = kOutputSchemaVersion;
    out["model"] = model.network.name();
    out["batch"] = o.model.batch;
    out["recipe"] = o.model.recipe.word();
    print_json(out);
  } else {
    fmt::print("{} at batch {}: {} and {} per iteration ({}, meter {}{})\n", model.network.name(),
               o.model.batch, m.energy_j ? joules_text(*m.energy_j) : "energy unknown",
               seconds_text(m.time_s), m.mode, m.meter, m.modelled ? ", modelled" : "");
    fmt::print("standard error {} of energy, {} of time; {} windows, {} outliers, {} iterations\n",
               percent_text(m.energy_error), percent_text(m.time_error), m.windows, m.outliers, m.iterations);
    if (!m.note.empty()) fmt::print("note: {}\n", m.note);
  }
  if (!m.stable) {
    throw Error(ErrorKind::kUnstable,
                fmt::format("the measurement did not settle to {} within {}; give it more with --seconds",
                            percent_text(o.target_error), duration_text(o.seconds)));
  }
}

}  // namespace

void add_measure(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("measure", "Train a network for real and tell what an iteration costs");
  add_model_options(*verb, o->model);
  verb->add_option("--seconds", o->seconds, "Most seconds of training")->check(CLI::Range(0.1, 3600.0));
  verb->add_option("--target-error", o->target_error, "Relative standard error to reach")
      ->check(CLI::Range(1e-4, 0.5));
  verb->add_option("--mode", o->mode, "eager, or replay where the device can")
      ->check(CLI::IsMember({"eager", "replay"}));
  add_recipe_options(*verb, o->model);
  add_worker_options(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere

// ampere measure: trains a network for real and tells what an iteration cost, or runs any program and
// tells what it cost.
#include <fmt/core.h>

#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/quantity_text.h"
#include "common.h"
#include "measure/repeats.h"
#include "meter/open.h"
#include "metrics_options.h"
#include "network/shape.h"
#include "progress.h"
#include "run_command.h"
#include "session/sustained.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct MeasureArguments {
  CommonOptions common;
  ModelOptions model;
  double seconds = 5;
  double target_error = 0.01;
  std::string mode = "eager";
  int repeat = 1;
  int windows = 5;
  std::string output;
  std::string sustained;  // empty: not asked
  MetricsOptions metrics;
};

// The program owns standard output, so its cost goes to standard error and, as JSON, to a file, or behind
// what the program wrote.
void run_program(const MeasureArguments& o, const std::vector<std::string>& command) {
  if (!o.output.empty()) require_writable(o.output);
  check(o.metrics);
  const std::unique_ptr<Meter> meter = open_meter(o.common.meter);
  const MeterInfo& info = meter->info();
  const MeteredRun run = run_command(command, *meter);
  tell_figures(run, info, o.common.quiet);
  const Json figures = figures_json(command, run, info);
  if (o.common.json) print_json(figures);
  if (!o.output.empty())
    write_file(o.output, figures.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  tell_metrics(o.metrics, command.front(), figures);
  if (run.exit_status != 0) throw CLI::RuntimeError(run.exit_status);
}

std::string figures_text(const Measurement& m) {
  return fmt::format("{} and {} per iteration", m.energy_j ? joules_text(*m.energy_j) : "energy unknown",
                     seconds_text(m.time_s));
}

std::string scatter_text(const std::optional<double>& scatter) {
  return scatter ? percent_text(*scatter) : "unknown";
}

Json scatter_json(const std::optional<double>& scatter) { return scatter ? Json(*scatter) : Json(nullptr); }

Json repeats_json(const MeasureArguments& o, const Network& network, const Repeats& repeats) {
  Json out = to_json(median_of(repeats));
  out["schema_version"] = kOutputSchemaVersion;
  out["model"] = network.name();
  out["batch"] = o.model.batch;
  out["recipe"] = o.model.recipe.word();
  out["energy_scatter"] = scatter_json(energy_scatter(repeats));
  out["time_scatter"] = scatter_json(time_scatter(repeats));
  for (const Repeat& repeat : repeats.all) {
    Json one = to_json(repeat.measurement);
    one["wall_s"] = repeat.wall_s;
    out["repeats"].push_back(one);
  }
  return out;
}

void print_each(const Repeats& repeats) {
  int number = 0;
  for (const Repeat& repeat : repeats.all) {
    const Measurement& m = repeat.measurement;
    print("{:>3}: {}, standard error {} of energy, {} of time{}\n", ++number, figures_text(m),
          percent_text(m.energy_error), percent_text(m.time_error), m.stable ? "" : ", not settled");
  }
}

void print_repeats(const MeasureArguments& o, const Network& network, const Repeats& repeats) {
  const Measurement m = median_of(repeats);
  if (o.repeat > 1) print_each(repeats);
  print("{} at batch {}: {} ({}, meter {}{})\n", network.name(), o.model.batch, figures_text(m), m.mode,
        m.meter, m.modelled ? ", modelled" : "");
  if (o.repeat > 1) {
    print("medians of {} measurements; scatter {} of energy, {} of time\n", repeats.all.size(),
          scatter_text(energy_scatter(repeats)), scatter_text(time_scatter(repeats)));
  }
  print("standard error {} of energy, {} of time; {} windows, {} outliers, {} iterations\n",
        percent_text(m.energy_error), percent_text(m.time_error), m.windows, m.outliers, m.iterations);
  if (!m.note.empty()) print("note: {}\n", m.note);
}

void refuse_unsettled(const MeasureArguments& o, const Repeats& repeats) {
  std::size_t unsettled = 0;
  for (const Repeat& repeat : repeats.all) unsettled += !repeat.measurement.stable;
  if (unsettled == 0) return;
  const std::string which =
      o.repeat > 1 ? fmt::format("{} of {} measurements", unsettled, repeats.all.size()) : "the measurement";
  throw Error(ErrorKind::kUnstable,
              fmt::format("{} did not settle to {} within {}; give it more with --seconds", which,
                          percent_text(o.target_error), duration_text(o.seconds)));
}

// The worker says nothing while it trains, so the bar goes by the clock: at most, --seconds for each.
Repeats measured(const MeasureArguments& o, WorkerClient& worker, const MeasureRequest& request) {
  const Countdown bar("training", o.seconds * o.repeat, o.common.quiet || o.common.json);
  return measure_repeatedly([&] { return worker.measure(request); }, o.repeat);
}

// Trains without a rest for so long and keeps what that taught of the device, for estimate --sustained.
void run_sustained(const MeasureArguments& o) {
  const double seconds = parse_duration(o.sustained, "--sustained").value();
  const LoadedModel model = load_model(o.model, o.common);
  infer_shapes(model.network, o.model.batch);
  const Session session = open_session(o.common);
  const Json idle = session.worker->idle(5, session.meter);
  MeasureRequest request;
  request.network = model.network;
  request.batch = o.model.batch;
  request.recipe = o.model.recipe;
  request.meter = session.meter;
  request.mode = o.mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
  const OnStep step = shown(o.common);
  const auto once = [&](const MeasureRequest& r) { return session.worker->measure(r); };
  const std::vector<WarmSample> samples = run_long(once, request, seconds, [&](double until) {
    if (step) step({"a long run", static_cast<int>(until), static_cast<int>(seconds), seconds - until, ""});
  });
  const ThermalState state = learn_thermal(samples, idle.value("power_w", 0.0));
  put_thermal(*session.store, session.device_id, state);
  if (o.common.json) {
    Json out = to_json(state);
    out["schema_version"] = kOutputSchemaVersion;
    for (const WarmSample& s : samples)
      out["run"].push_back({{"until_s", s.until_s}, {"time_s", s.time_s}, {"power_w", s.power_w}});
    print_json(out);
    return;
  }
  if (!state.slowed) {
    say(fmt::format("in {} nothing slowed down at {}: it can sustain that at least",
                    duration_text(state.seconds), watts_text(state.sustained_w)));
    return;
  }
  say(fmt::format(
      "cold it draws {}; warm it sustains {}, iterations take {:.2f} times as long then and {:.2f} times "
      "the energy. It is warm after {} of this; kept for: ampere estimate --sustained",
      watts_text(state.cold_w), watts_text(state.sustained_w), state.slowdown,
      state.sustained_w * state.slowdown / state.cold_w,
      duration_text(-state.time_constant_s *
                    std::log(1 - std::min(0.999, state.sustained_w / (state.cold_w * state.warm))))));
}

void run(const MeasureArguments& o) {
  if (!o.sustained.empty()) return run_sustained(o);
  check(o.metrics);
  const LoadedModel model = load_model(o.model, o.common);
  infer_shapes(model.network, o.model.batch);
  WorkerClient worker(worker_options(o.common.worker));
  MeasureRequest request;
  request.network = model.network;
  request.batch = o.model.batch;
  request.recipe = o.model.recipe;
  request.meter = o.common.meter;
  request.mode = o.mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
  request.budget_s = o.seconds;
  request.target_error = o.target_error;
  request.min_windows = o.windows;
  const Repeats repeats = measured(o, worker, request);
  const Json figures = repeats_json(o, model.network, repeats);
  tell_metrics(o.metrics, model.network.name(), figures);
  if (o.common.json) {
    print_json(figures);
  } else {
    print_repeats(o, model.network, repeats);
  }
  if (repeats.ended) throw *repeats.ended;
  refuse_unsettled(o, repeats);
}

}  // namespace

void add_measure(CLI::App& app, const std::vector<std::string>& command) {
  auto o = std::make_shared<MeasureArguments>();
  CLI::App* verb =
      app.add_subcommand("measure", "Train a network, or run a program (-- COMMAND), and tell what it took");
  if (command.empty()) add_model_options(*verb, o->model);
  verb->add_option("--seconds", o->seconds, "Most seconds of training")->check(CLI::Range(0.1, 3600.0));
  verb->add_option("--target-error", o->target_error, "Relative standard error to reach")
      ->check(CLI::Range(1e-4, 0.5));
  verb->add_option("--mode", o->mode, "eager, or replay where the device can")
      ->check(CLI::IsMember({"eager", "replay"}));
  verb->add_option("--repeat", o->repeat, "Measure so many times, and tell how far they scatter")
      ->check(CLI::Range(1, 1000));
  // One has no scatter to tell its error from; very many could take longer than a worker is waited for.
  verb->add_option("--windows", o->windows, "Least windows of one measurement")->check(CLI::Range(2, 50));
  verb->add_option("-o,--output", o->output, "With -- COMMAND: write the figures to this file, as JSON");
  verb->add_option("--sustained", o->sustained,
                   "10min: train for so long, and keep what the device does when warm");
  add_metrics_options(*verb, o->metrics);
  add_store_options(*verb, o->common);
  add_recipe_options(*verb, o->model);
  add_worker_options(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->footer(
      "ampere measure [OPTIONS] -- COMMAND...\n  runs the program, tells its energy on standard error, and "
      "passes its exit status through;\n  --json: the energy goes to standard output, behind the program's "
      "own");
  verb->callback([o, command] { command.empty() ? run(*o) : run_program(*o, command); });
}

}  // namespace ampere

// ampere run: a program under a power limit or at other clocks, metered; what was set before is put back
// whatever ends it.
#include <fmt/core.h>

#include <memory>

#include "base/error.h"
#include "common.h"
#include "control/guardian.h"
#include "control/settings.h"
#include "measure/recipe.h"
#include "meter/open.h"
#include "metrics_options.h"
#include "run_command.h"
#include "session/estimate.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct RunArguments {
  CommonOptions common;
  std::string power_limit;
  WantedSettings wanted;
  double clock_mhz = 0;
  double cpu_clock_mhz = 0;
  std::string output;
  // What the program trains, to tell beforehand what it will take; an empty name: nothing is told.
  ModelOptions model;
  std::int64_t samples = 0;
  std::int64_t epochs = 1;
  MetricsOptions metrics;
};

// Of the whole job, under the settings that the program will run with.
struct PredictedRun {
  Interval energy_j, time_s;
  bool modelled = false;
};

std::optional<PredictedRun> predicted(const RunArguments& o) {
  if (o.model.model.empty()) return std::nullopt;
  if (o.samples == 0)
    throw bad_input("--model is about a whole job; say how long it is: --samples N --epochs N");
  const Network network = load_model(o.model, o.common).network;
  Store store = Store::to_read(o.common.store);
  const StoredDevice device = device_asked_for(store, o.common.device);
  DeviceProfile profile(store, device.id, stored_word(o.model.recipe, device.fingerprint));
  const Estimate e = estimate_model(profile, network, setup_of(o.model),
                                    {"split", MeasureMode::kEager, false, false,
                                     o.wanted.power_limit_w.value_or(0), o.wanted.clock_mhz.value_or(0)});
  const double iterations = iterations_of(o.samples, o.model.batch, o.epochs);
  return PredictedRun{e.energy_j * iterations, e.time_s * iterations, e.modelled};
}

// Of the estimate, by the program as a whole: what it does besides training is in what was measured.
void tell_prediction(const PredictedRun& p, const MeteredRun& done) {
  const bool moved = done.energy > Joules(0);
  warn(fmt::format(
      "predicted {}{}, and {}{}", interval_text(p.energy_j, joules_text),
      moved ? fmt::format("; it took {:+.1f}%", 100 * (done.energy.value() / p.energy_j.value - 1)) : "",
      interval_text(p.time_s, duration_text),
      fmt::format("; it took {:+.1f}%", 100 * (done.time.value() / p.time_s.value - 1))));
}

Json prediction_json(const PredictedRun& p) {
  return {
      {"energy_j", p.energy_j.value}, {"energy_low_j", p.energy_j.low}, {"energy_high_j", p.energy_j.high},
      {"time_s", p.time_s.value},     {"time_low_s", p.time_s.low},     {"time_high_s", p.time_s.high},
      {"modelled", p.modelled}};
}

std::string change_text(const Change& c) {
  const std::string before = c.before ? fmt::format(" instead of {:.6g} {}", *c.before, c.unit) : "";
  return fmt::format("{}: {} {:.6g} {}{}", c.device, c.what, c.now, c.unit, before);
}

Json changes_json(const std::vector<Change>& changes) {
  Json out = Json::array();
  for (const Change& c : changes) {
    const std::string unit = c.unit == "W" ? "_w" : "_mhz";
    out.push_back({{"device", c.device},
                   {"what", c.what},
                   {"before" + unit, c.before ? Json(*c.before) : Json()},
                   {"during" + unit, c.now}});
  }
  return out;
}

void run(const RunArguments& o, const std::vector<std::string>& command) {
  if (!o.output.empty()) require_writable(o.output);
  check(o.metrics);
  const std::optional<PredictedRun> told = predicted(o);
  Guardian guardian;  // before anything is changed, and while there is one thread
  for (const std::string& command_for_it : guardian.left_behind())
    warn("an ampere that was killed had left a setting behind; it is put back, as by: " + command_for_it);
  const AppliedSettings applied = apply_settings(o.wanted, [&](const Undo& undo) { guardian.promise(undo); });
  if (!o.common.quiet) {
    for (const Change& change : applied.changes) warn(change_text(change));
  }
  const std::unique_ptr<Meter> meter = open_meter(o.common.meter);
  const MeteredRun done = run_command(command, *meter, true);
  const std::vector<std::string> failures = guardian.end();
  for (const std::string& failure : failures) warn("could not be put back: " + failure);
  if (failures.empty() && !o.common.quiet) warn("settings are put back");
  tell_figures(done, meter->info(), o.common.quiet);
  if (told && !o.common.quiet) tell_prediction(*told, done);
  Json figures = figures_json(command, done, meter->info());
  figures["settings"] = changes_json(applied.changes);
  figures["put_back"] = failures.empty();
  if (told) figures["predicted"] = prediction_json(*told);
  if (o.common.json) print_json(figures);
  if (!o.output.empty())
    write_file(o.output, figures.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  tell_metrics(o.metrics, o.model.model.empty() ? command.front() : o.model.model, figures);
  if (done.exit_status != 0) throw CLI::RuntimeError(done.exit_status);
  if (!failures.empty()) throw CLI::RuntimeError(exit_code(ErrorKind::kFailed));
}

}  // namespace

void add_run(CLI::App& app, const std::vector<std::string>& command) {
  auto o = std::make_shared<RunArguments>();
  CLI::App* verb =
      app.add_subcommand("run", "Run a program (-- COMMAND) under a power limit or clock, and undo it");
  verb->add_option("--power-limit", o->power_limit, "Watts that each GPU may draw: 300 or 300W");
  verb->add_option("--clock", o->clock_mhz, "MHz that each GPU is locked to")->check(CLI::Range(1.0, 1e5));
  verb->add_option("--gpus", o->wanted.gpus, "Which: 0,1, among those that are visible; all of them");
  verb->add_option("--cpu-clock", o->cpu_clock_mhz, "Most MHz of each CPU (cpufreq)")
      ->check(CLI::Range(1.0, 1e5));
  verb->add_option("--meter", o->common.meter, "Energy meter (see ampere detect)")->envname("AMPERE_METER");
  verb->add_option("-o,--output", o->output, "Write the figures to this file, as JSON");
  verb->add_option("--model", o->model.model,
                   "What COMMAND trains: what it will take is told beside what it took");
  verb->add_option("-b,--batch", o->model.batch, "Its batch size")
      ->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  verb->add_option("--input", o->model.inputs, "Shape that --model reads, where it is a .pt file: 3x224x224")
      ->allow_extra_args(false);
  verb->add_option("--samples", o->samples, "Samples per epoch that it trains on")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000000}));
  verb->add_option("--epochs", o->epochs, "Epochs that it trains")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}));
  add_metrics_options(*verb, o->metrics);
  add_recipe_options(*verb, o->model);
  add_worker_option(*verb, o->common);
  add_store_options(*verb, o->common);
  add_device_option(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->footer(
      "ampere run [OPTIONS] -- COMMAND...\n  a process of its own puts the settings back, also after kill -9 "
      "of ampere;\n  the exit status is the program's");
  verb->callback([o, command] {
    if (command.empty())
      throw bad_input("name the program behind two dashes: ampere run --power-limit 300 -- COMMAND");
    if (!o->power_limit.empty()) o->wanted.power_limit_w = limit_watts(o->power_limit);
    if (o->clock_mhz > 0) o->wanted.clock_mhz = o->clock_mhz;
    if (o->cpu_clock_mhz > 0) o->wanted.cpu_clock_mhz = o->cpu_clock_mhz;
    if (!o->wanted.any())
      throw bad_input(
          "say what to set: --power-limit WATTS, --clock MHZ or --cpu-clock MHZ (to meter alone: ampere "
          "measure -- COMMAND)");
    run(*o, command);
  });
}

}  // namespace ampere

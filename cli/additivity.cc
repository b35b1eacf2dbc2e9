// ampere additivity: do layers add up here? Identical layers are added to a network one by one (the paper's
// Figure 2), and each network is trained for real.
#include "evaluate/additivity.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <tuple>

#include "base/error.h"
#include "common.h"
#include "network/shape.h"
#include "progress.h"
#include "session/profiling.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

constexpr int kFirstLayers = 2;  // a convolution and a linear layer, before any is added

struct AdditivityArguments {
  CommonOptions common;
  ModelOptions model;
  AdditivityOptions additivity;
  double seconds = 2;
  std::string mode;  // empty: both where the device can replay
  std::string output;
};

std::vector<MeasureMode> modes_of(const AdditivityArguments& o, const Session& session) {
  const bool replays = session.profiling_mode() == MeasureMode::kReplay;
  const std::string mode = !o.mode.empty() ? o.mode : replays ? "both" : "eager";
  if (mode == "eager") return {MeasureMode::kEager};
  if (!replays) {
    throw bad_input(fmt::format("--mode {}: this device ({}) has nothing to replay; use --mode eager", mode,
                                session.device.value("type", "cpu")));
  }
  if (mode == "both") return {MeasureMode::kEager, MeasureMode::kReplay};
  return {MeasureMode::kReplay};
}

std::string layers_text(std::size_t added) { return std::to_string(added + kFirstLayers); }

std::string with_spread(double value, double spread) {
  return fmt::format("{} ({})", joules_text(value), percent_text(spread / value));
}

std::string signed_percent(double fraction) { return fmt::format("{:+.1f}%", 100 * fraction); }

void print_wrapped(const std::string& text) { print("{}", wrapped(text, 0, std::min(80, terminal_width()))); }

void print_series(const AdditivitySeries& s, bool modelled) {
  print("\n{} training{}\n\n", s.name(), modelled ? ", modelled energy" : "");
  Table table{{"layers", "energy (spread)", "time (spread)", "last layer (spread)", "off line"},
              {},
              {true, true, true, true, true},
              -1};
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    const AdditivityPoint& p = s.points[i];
    std::string last;
    if (i > 0) {
      const Increment step = s.increment(i);
      last = fmt::format("{} ({})", joules_text(step.energy_j), joules_text(step.spread_j));
    }
    table.rows.push_back({layers_text(i), with_spread(p.energy_j.value(), p.energy_j.spread()),
                          fmt::format("{} ({})", seconds_text(p.time_s.value()),
                                      percent_text(p.time_s.spread() / p.time_s.value())),
                          last, signed_percent(s.energy.residuals[i])});
  }
  print(table);
  Table fits{{"straight line", layers_text(0) + " layers", "per added layer", "R2", "mean off", "most off"},
             {},
             {false, true, true, true, true, true},
             -1};
  for (const auto& [name, fit, text] :
       {std::tuple{"energy", &s.energy, &joules_text}, {"time", &s.time, &seconds_text}}) {
    fits.rows.push_back({name, text(fit->intercept), text(fit->slope),
                         fit->r2 ? fmt::format("{:.4f}", *fit->r2) : "", percent_text(fit->mean_residual),
                         percent_text(fit->largest_residual)});
  }
  print("\n");
  print(fits);
}

void print_phases(const Additivity& a) {
  print("\nNeuralPower's way: phases measured alone and added up{}\n\n",
        a.modelled ? ", modelled energy" : "");
  Table table{{"layers", "forward", "backward", "update", "sum (spread)", "iteration", "sum is off"},
              {},
              {true, true, true, true, true, true, true},
              -1};
  double over = 0;
  for (std::size_t i = 0; i < a.phases.size(); ++i) {
    const PhasesPoint& p = a.phases[i];
    over += a.phases_over(i) / static_cast<double>(a.phases.size());
    table.rows.push_back({layers_text(i), joules_text(p.forward_j.value()), joules_text(p.backward_j.value()),
                          joules_text(p.update_j.value()), with_spread(p.sum_j(), p.spread_j()),
                          joules_text(a.series.front().points[i].energy_j.value()),
                          signed_percent(a.phases_over(i))});
  }
  print(table);
  print_wrapped(fmt::format("on average the sum is off the eager iteration by {}", signed_percent(over)));
}

void print_text(const AdditivityArguments& o, const Session& session, const Additivity& a) {
  const StackOptions& stack = o.additivity.stack;
  print_wrapped(fmt::format(
      "conv and fc layer, then up to {} conv3x3 layers added: {} channels, {}x{}, batch {}, on {}, meter "
      "{}{}",
      o.additivity.added, stack.channels, stack.size, stack.size, o.model.batch,
      session.fingerprint.value("name", "?"), session.meter, a.modelled ? " (modelled energy)" : ""));
  for (const AdditivitySeries& s : a.series) print_series(s, a.modelled);
  if (!a.phases.empty()) print_phases(a);
  std::string spreads;
  for (const AdditivitySeries& s : a.series) {
    spreads += fmt::format("{}{} of the energy in {} training", spreads.empty() ? "" : ", ",
                           percent_text(s.mean_spread()), s.name());
  }
  print("\n");
  print_wrapped(
      fmt::format("figures are medians of {} passes, with the spread from the lowest pass to the highest: on "
                  "average {}; a "
                  "line that is off by less may be off by noise alone",
                  o.additivity.passes, spreads));
  if (a.unstable > 0) {
    print_wrapped(fmt::format("{} of {} measurements did not settle to {}; give them more with --seconds",
                              a.unstable, a.measurements, percent_text(o.additivity.how.target_error)));
  }
}

MeasureOptions measuring_stacks(const AdditivityArguments& o, const Session& session) {
  ProfilingOptions how;
  how.budget_s = o.seconds;
  // A window of a slow counter takes a second, so there is one in each pass, and the passes show the spread.
  if (session.profiling_mode() == MeasureMode::kReplay)
    return measuring_whole(session, setup_of(o.model), how, MeasureMode::kReplay);
  MeasureOptions measuring;
  measuring.recipe = o.model.recipe;
  measuring.meter = session.meter;
  measuring.budget_s = o.seconds;
  measuring.window_s = 0.1;
  measuring.target_error = 0.005;  // increments are small differences of large figures
  return measuring;
}

void run(AdditivityArguments o) {
  AdditivityOptions& options = o.additivity;
  infer_shapes(stacked_network(options.added, options.stack), o.model.batch);
  if (options.phases && o.mode == "replay")
    throw bad_input("--phases compares with eager training; use --mode eager or both");
  if (!o.output.empty()) require_writable(o.output);
  const bool quiet = o.common.quiet || o.common.json;
  const Session session = open_worker(o.common);
  options.modes = modes_of(o, session);
  options.batch = o.model.batch;
  options.how = measuring_stacks(o, session);
  const auto start = std::chrono::steady_clock::now();
  Additivity a;
  {
    Progress bar("training", quiet);
    options.progress = [&](int done, int of, const std::string& network) {
      const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      bar.show(done, of, (done > 0 ? spent / done : o.seconds) * (of - done), network);
    };
    a = measure_additivity(session.measure(), options);
  }
  Json out = json_header(session.fingerprint, a.modelled);
  out["layers_added"] = options.added;
  out["channels"] = options.stack.channels;
  out["size"] = options.stack.size;
  out["batch"] = o.model.batch;
  out["recipe"] = o.model.recipe.word();
  out["passes"] = options.passes;
  out["date"] = utc_now();
  out.update(to_json(a));
  if (!o.output.empty()) write_file(o.output, out.dump(1) + "\n");
  if (o.common.json) {
    print_json(out);
    return;
  }
  print_text(o, session, a);
  if (!o.output.empty()) print("raw points in {}\n", o.output);
}

}  // namespace

void add_additivity(CLI::App& app) {
  auto o = std::make_shared<AdditivityArguments>();
  o->model.batch = 10;
  CLI::App* verb =
      app.add_subcommand("additivity", "Do layers add up here: train networks that grow layer by layer");
  verb->add_option("--layers", o->additivity.added, "Layers to add, one by one")->check(CLI::Range(2, 1000));
  verb->add_option("--channels", o->additivity.stack.channels, "Channels of every convolution")
      ->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  verb->add_option("--size", o->additivity.stack.size, "Height and width of the images")
      ->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  verb->add_option("-b,--batch", o->model.batch, "Batch size")->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  verb->add_option("--mode", o->mode, "eager, replay or both; both where the device can replay")
      ->check(CLI::IsMember({"eager", "replay", "both"}));
  verb->add_flag("--phases", o->additivity.phases, "Also add up forward, backward and update measured alone");
  verb->add_option("--passes", o->additivity.passes, "Times that all networks are measured")
      ->check(CLI::Range(2, 1000));
  verb->add_option("--seconds", o->seconds, "Most seconds of training per measurement")
      ->check(CLI::Range(0.1, 3600.0));
  verb->add_option("-o,--output", o->output, "Write raw points to this file, as JSON");
  add_recipe_options(*verb, o->model);
  add_worker_options(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere

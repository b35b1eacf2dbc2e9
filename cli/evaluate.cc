// ampere evaluate: how right are we here? Random networks, trained for real, against every method.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "common.h"
#include "session/evaluation.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct EvaluateArguments {
  CommonOptions common;
  ModelOptions model;
  EvaluationOptions evaluation;
  SuiteOptions suite;
  std::vector<std::string> methods;
  std::string mode = "eager";
  int samples = 0;
  std::string output;
  bool each = false;
};

void print_networks(const Evaluation& e) {
  const MethodResult& m = e.methods.front();
  Table table{{"network", "measured", "estimated (95% interval)", "off", "time", "estimated"},
              {},
              {false, true, true, true, true, true},
              0};
  for (std::size_t i = 0; i < e.truth.size(); ++i) {
    const MethodPoint& p = m.points[i];
    table.rows.push_back({e.truth[i].network, joules_text(e.truth[i].energy_j),
                          p.interval ? interval_text(*p.interval, joules_text) : joules_text(p.energy_j),
                          fmt::format("{:+.1f}%", 100 * (p.energy_j / e.truth[i].energy_j - 1)),
                          seconds_text(e.truth[i].time_s), seconds_text(p.time_s)});
  }
  print(table);
  print("\n");
}

void print_summary(const Evaluation& e) {
  const bool two_clocks = std::any_of(e.methods.begin(), e.methods.end(),
                                      [](const MethodResult& m) { return m.mape_at_true_time.has_value(); });
  Table table{{"method", "MAPE", "median", "95th pct", "bias", "coverage", "MAPE of time"},
              {},
              {false, true, true, true, true, true, true},
              -1};
  if (two_clocks) {
    table.header.push_back("at true time");
    table.right.push_back(true);
  }
  for (const MethodResult& m : e.methods) {
    table.rows.push_back({m.name, percent_text(m.mape), percent_text(m.median), percent_text(m.p95),
                          fmt::format("{:+.1f}%", 100 * m.bias), m.coverage ? percent_text(*m.coverage) : "",
                          m.time_mape > 0 ? percent_text(m.time_mape) : ""});
    if (two_clocks)
      table.rows.back().push_back(m.mape_at_true_time ? percent_text(*m.mape_at_true_time) : "");
  }
  print(table);
  print("noise floor (the same networks measured again): {}\n", percent_text(e.noise_floor));
  print("flops, flops-affine and flops-bytes were fitted to these very networks\n");
  if (two_clocks) {
    print("{}", wrapped("at true time: had the time of each iteration been known, which the host decides", 0,
                        terminal_width()));
  }
}

void run_one(const EvaluateArguments& o, const Session& session, const EvaluationOptions& options,
             const LoadedModel& model) {
  const EvaluationResult result =
      run_evaluation(session, model, options, shown(o.common.quiet || o.common.json));
  if (!o.output.empty()) write_evaluation(o.output, result);
  if (o.common.json) {
    print_json(result.json);
    return;
  }
  const Evaluation& e = result.evaluation;
  print("{} at batch {}, {} random networks{}, on {}, meter {}{}\n\n", options.model, options.setup.batch,
        e.truth.size(), options.mode == MeasureMode::kReplay ? ", replayed" : "",
        session.fingerprint.value("name", "?"), session.meter, result.modelled ? " (modelled energy)" : "");
  if (o.each || e.truth.size() <= 10) print_networks(e);
  print_summary(e);
  for (const MethodProfile& p : result.profiles) {
    print("profiling for {}: {} ({} points measured, {} known)\n", p.method, duration_text(p.summary.seconds),
          p.summary.measured, p.summary.reused);
  }
  if (!o.output.empty()) print("raw points in {0}.json and {0}.csv\n", o.output);
}

void run_all_of_suite(const EvaluateArguments& o, const EvaluationOptions& options) {
  const auto begins = [&](const std::string& name, double seconds) {
    if (!o.common.quiet) warn(fmt::format("{} ({} s so far)", name, std::lround(seconds)));
  };
  const SuiteResult result = run_suite(open_session(o.common), o.suite, options, o.methods, o.samples,
                                       shown(o.common.quiet), begins);
  print("{}", result.report);
  if (result.not_begun > 0) {
    warn(fmt::format("{} of {} evaluations were not begun in {} s; the same command goes on with them",
                     result.not_begun, result.runs, std::lround(o.suite.seconds)));
  }
}

void run(EvaluateArguments& o) {
  EvaluationOptions options = o.evaluation;
  options.model = o.model.model;
  options.setup = setup_of(o.model);
  if (!o.methods.empty()) options.methods = o.methods;
  if (o.samples > 0) options.samples = o.samples;
  options.mode = o.mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
  // The other methods tell the cost of eager training only.
  if (o.methods.empty() && options.mode == MeasureMode::kReplay) options.methods = {"split"};
  if (options.model.empty() == o.suite.name.empty())
    throw bad_input("name a MODEL to evaluate, or a suite with --suite paper");
  if (!o.suite.name.empty()) {
    for (const std::string& name : options.methods) method_behind(name);
    if (o.mode != "eager" || options.setup.recipe.autotune || options.setup.batch != 1)
      throw bad_input(
          "a suite says itself what is trained and how; choose among its evaluations with --only");
    if (o.common.json)
      throw bad_input("a suite writes its JSON to the folder of --output; leave --json away");
    o.suite.folder = o.output.empty() ? "suite" : o.output;
    run_all_of_suite(o, options);
    return;
  }
  const LoadedModel model = model_to_evaluate(options);
  for (const char* ending : {".json", ".csv"}) {
    if (!o.output.empty()) require_writable(o.output + ending);
  }
  const Session session = open_session(o.common);
  if (options.mode == MeasureMode::kReplay && session.profiling_mode() != MeasureMode::kReplay)
    throw bad_input("a CPU has nothing to replay; leave --mode away");
  run_one(o, session, options, model);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto o = std::make_shared<EvaluateArguments>();
  CLI::App* verb =
      app.add_subcommand("evaluate", "How right are the estimates here: errors against real training");
  EvaluationOptions& e = o->evaluation;
  add_model_options(*verb, o->model);
  verb->get_option("MODEL")->required(false);
  verb->add_option("--suite", o->suite.name, "paper: every family of the paper, instead of one MODEL");
  verb->add_option("--only", o->suite.only,
                   "Of the suite, only these evaluations (cnn5-b256, cnn5-b256-replay)")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--seconds", o->suite.seconds, "Of the suite, begin no evaluation later than this")
      ->check(CLI::Range(0.0, 1e9));
  verb->add_option("--samples", o->samples, "Random networks to train (20, or what the suite says)")
      ->check(CLI::Range(1, 100000));
  verb->add_option("--mode", o->mode, "How they are trained: eager, or replay where the device can")
      ->check(CLI::IsMember({"eager", "replay"}));
  verb->add_option("--passes", e.passes, "How often each network is trained, at least twice")
      ->check(CLI::Range(2, 1000));
  verb->add_option("--training-seconds", e.training_s,
                   "After two passes, none is begun later than this; 0: no limit")
      ->check(CLI::Range(0.0, 1e9));
  verb->add_option("--sample-seed", e.sample_seed, "Seed of the random networks");
  verb->add_option("--method", o->methods, "split, split-probe, split-exact, paper, neuralpower")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("-o,--output", o->output,
                   "Write raw points to OUTPUT.json and OUTPUT.csv; a folder with --suite");
  verb->add_flag("--each", o->each, "Show every network");
  add_profiling_options(*verb, e.profiling);
  add_recipe_options(*verb, o->model);
  add_worker_options(*verb, o->common);
  add_reconnect_option(*verb, o->common);
  add_store_options(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere

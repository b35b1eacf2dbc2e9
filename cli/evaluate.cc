// ampere evaluate: how right are we here? Random networks, trained for real, against every method.
#include "evaluate/evaluate.h"

#include <fmt/core.h>

#include <memory>

#include "base/error.h"
#include "evaluate/sample.h"
#include "profiling.h"
#include "progress.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct Options {
  CommonOptions common;
  ModelOptions model;
  ProfilingOptions profiling;
  std::vector<std::string> methods = {"split", "paper"};
  int samples = 20;
  int passes = 2;
  double training_s = 0;
  std::uint64_t sample_seed = 1;
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
  fmt::print("\n");
}

void print_summary(const Evaluation& e) {
  Table table{{"method", "MAPE", "median", "95th pct", "bias", "coverage", "MAPE of time"},
              {},
              {false, true, true, true, true, true, true},
              -1};
  for (const MethodResult& m : e.methods) {
    table.rows.push_back({m.name, percent_text(m.mape), percent_text(m.median), percent_text(m.p95),
                          fmt::format("{:+.1f}%", 100 * m.bias), m.coverage ? percent_text(*m.coverage) : "",
                          m.time_mape > 0 ? percent_text(m.time_mape) : ""});
  }
  print(table);
  fmt::print("noise floor (the same networks measured twice): {}\n", percent_text(e.noise_floor));
  fmt::print("flops, flops-affine and flops-bytes were fitted to these very networks\n");
}

void run(const Options& o) {
  const Model model = load_model(o.model.model);
  if (!model.zoo) {
    throw bad_input(o.model.model +
                    ": random networks are sampled from zoo families only; see: ampere models");
  }
  for (const std::string& name : o.methods) method_behind(name);
  for (const char* ending : {".json", ".csv"}) {
    if (!o.output.empty()) require_writable(o.output + ending);
  }
  const bool quiet = o.common.quiet || o.common.json;
  Session session = open_session(o.common);
  DeviceProfile profile(*session.store, session.device_id, o.model.recipe.word());
  const auto profiles = profile_model(session, profile, model, o.model, o.profiling, o.methods, quiet);

  std::vector<Network> networks;
  for (const ZooChoice& c : sample_networks(*model.zoo, o.samples, o.sample_seed))
    networks.push_back(build(c));
  EvaluateOptions options;
  options.measuring = measuring_whole(session, o.model, o.profiling);
  options.probing.measuring = measuring(session, o.model, o.profiling);
  options.methods = o.methods;
  options.passes = o.passes;
  options.seconds = o.training_s;
  const auto start = std::chrono::steady_clock::now();
  Evaluation e;
  {
    Progress bar("training", quiet);
    options.progress = [&](int done, int of) {
      const double pace =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / done;
      bar.show(done, of, pace * (of - done),
               networks[static_cast<std::size_t>((done - 1) % static_cast<int>(networks.size()))].name());
    };
    e = evaluate(profile, networks, o.model.batch, session.measure(), options);
  }
  Json out = json_header(session.fingerprint, profile.modelled());
  out["model"] = o.model.model;
  out["batch"] = o.model.batch;
  out["recipe"] = o.model.recipe.word();
  out["samples"] = networks.size();
  out["sample_seed"] = o.sample_seed;
  out["date"] = utc_now();
  for (const MethodProfile& p : profiles) {
    out["profiling"][p.method] = {{"time_s", p.summary.seconds},
                                  {"fitting_time_s", p.summary.fitting_seconds},
                                  {"points_measured", p.summary.measured},
                                  {"points_reused", p.summary.reused}};
  }
  out.update(to_json(e));
  if (!o.output.empty()) {
    write_file(o.output + ".json", out.dump(1) + "\n");
    write_file(o.output + ".csv", to_csv(e));
  }
  if (o.common.json) {
    print_json(out);
    return;
  }
  fmt::print("{} at batch {}, {} random networks, on {}, meter {}{}\n\n", o.model.model, o.model.batch,
             networks.size(), session.fingerprint.value("name", "?"), session.meter,
             profile.modelled() ? " (modelled energy)" : "");
  if (o.each || networks.size() <= 10) print_networks(e);
  print_summary(e);
  for (const MethodProfile& p : profiles) {
    fmt::print("profiling for {}: {} ({} points measured, {} known)\n", p.method,
               duration_text(p.summary.seconds), p.summary.measured, p.summary.reused);
  }
  if (!o.output.empty()) fmt::print("raw points in {0}.json and {0}.csv\n", o.output);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("evaluate", "How right are the estimates here: errors against real training");
  add_model_options(*verb, o->model);
  verb->add_option("--samples", o->samples, "Random networks to train")->check(CLI::Range(1, 100000));
  verb->add_option("--passes", o->passes, "How often each network is trained, at least twice")
      ->check(CLI::Range(2, 1000));
  verb->add_option("--training-seconds", o->training_s,
                   "After two passes, none is begun later than this; 0: no limit")
      ->check(CLI::Range(0.0, 1e9));
  verb->add_option("--sample-seed", o->sample_seed, "Seed of the random networks");
  verb->add_option("--method", o->methods, "Methods to compare with the baselines")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("-o,--output", o->output, "Write raw points to OUTPUT.json and OUTPUT.csv");
  verb->add_flag("--each", o->each, "Show every network");
  add_profiling_options(*verb, o->profiling);
  add_recipe_options(*verb, o->model);
  add_worker_options(*verb, o->common);
  add_store_options(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere

// ampere estimate: what training a network will cost, from profiles alone. Needs no worker.
#include <fmt/core.h>

#include <memory>

#include "base/error.h"
#include "common.h"
#include "protocol/process.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct Options {
  CommonOptions common;
  ModelOptions model;
  std::string method = "split";
  std::int64_t epochs = 1;
  std::int64_t samples = 0;
  bool all_layers = false;
};

struct Job {
  double iterations_per_epoch = 0;  // 0: not asked for
  double iterations = 0;
};

Job job_of(const Options& o) {
  if (o.samples == 0) return {};
  const std::int64_t whole_batches = (o.samples + o.model.batch - 1) / o.model.batch;
  const auto per_epoch = static_cast<double>(whole_batches);
  return {per_epoch, per_epoch * static_cast<double>(o.epochs)};
}

// The command that measures what this estimate lacks: with the same recipe, into the same store.
std::string profile_command(const Options& o) {
  auto word = [](const std::string& text) {
    return text.find_first_of(" \t\"'\\$&|;()<>*?`#~") == std::string::npos ? text : shell_quoted(text);
  };
  const Recipe& r = o.model.recipe;
  const Recipe usual;
  std::string command = fmt::format("ampere profile {} --batch {}", word(o.model.model), o.model.batch);
  if (o.method != "split") command += " --method " + o.method;
  if (r.optimizer != usual.optimizer) command += " --optimizer " + r.optimizer;
  if (r.precision != usual.precision) command += " --precision " + r.precision;
  if (r.autotune) command += " --autotune on";
  if (r.threads != usual.threads) command += fmt::format(" --threads {}", r.threads);
  if (r.deterministic) command += " --deterministic";
  if (o.common.store != default_store_path()) command += " --store " + word(o.common.store);
  return command;
}

void print_json_estimate(const Options& o, const StoredDevice& device, const Model& model, const Estimate& e,
                         const Job& job) {
  Json out = json_header(device.fingerprint, e.modelled);
  out["device_id"] = device.id;
  out["model"] = model.network.name();
  out["batch"] = o.model.batch;
  out["recipe"] = o.model.recipe.word();
  out["method"] = e.method;
  out["regime"] = to_word(e.regime);
  auto scope = [&](double n) {
    return Json{{"iterations", n},
                {"energy_j", (e.energy_j * n).value},
                {"energy_low_j", (e.energy_j * n).low},
                {"energy_high_j", (e.energy_j * n).high},
                {"time_s", (e.time_s * n).value},
                {"time_low_s", (e.time_s * n).low},
                {"time_high_s", (e.time_s * n).high},
                {"power_w", e.energy_j.value / e.time_s.value}};
  };
  out["iteration"] = scope(1);
  if (job.iterations > 0) {
    out["epoch"] = scope(job.iterations_per_epoch);
    out["job"] = scope(job.iterations);
  }
  out["composition"] = {{"factor", e.composition_factor}, {"networks", e.composition_networks}};
  out["fixed"] = {{"energy_j", e.fixed_energy_j}, {"time_s", e.fixed_time_s}};
  out["layers"] = Json::array();
  for (const LayerEstimate& l : e.layers) {
    out["layers"].push_back({{"name", l.name},
                             {"role", to_word(l.role)},
                             {"kind", l.kind},
                             {"channels", {{"in", l.channels.in}, {"out", l.channels.out}}},
                             {"energy_j", l.energy_j.value},
                             {"energy_low_j", l.energy_j.low},
                             {"energy_high_j", l.energy_j.high},
                             {"time_s", l.time_s.value},
                             {"time_low_s", l.time_s.low},
                             {"time_high_s", l.time_s.high},
                             {"extrapolated", l.extrapolated}});
  }
  print_json(out);
}

void print_text(const Options& o, const StoredDevice& device, const Model& model, const Estimate& e,
                const Job& job) {
  fmt::print("{} at batch {} on {}, {}, meter {}{}\n\n", model.network.name(), o.model.batch,
             device.fingerprint.value("name", "?"), o.model.recipe.word(),
             device.fingerprint.value("meter", "?"), e.modelled ? " (modelled, not measured, energy)" : "");
  Table table{{"layer", "role", "kind", "channels", "energy", "time", "share"},
              {},
              {false, false, false, false, true, true, true},
              2};
  constexpr std::size_t kMostRows = 40;
  for (const LayerEstimate& l : e.layers) {
    if (table.rows.size() == kMostRows && !o.all_layers) break;
    table.rows.push_back({l.name, to_word(l.role), l.kind,
                          fmt::format("{}>{}{}", l.channels.in, l.channels.out, l.extrapolated ? "!" : ""),
                          joules_text(l.energy_j.value), seconds_text(l.time_s.value),
                          percent_text(l.energy_j.value / e.energy_j.value)});
  }
  print(table);
  if (e.layers.size() > table.rows.size())
    fmt::print("... {} more layers (--all shows them)\n", e.layers.size() - table.rows.size());
  for (const LayerEstimate& l : e.layers) {
    if (l.extrapolated) {
      fmt::print("! outside the profiled channels; this widens them: {}\n", profile_command(o));
      break;
    }
  }
  fmt::print("\n");
  Table total{{"", "energy (95% interval)", "time (95% interval)"}, {}, {}, -1};
  auto row = [&](const std::string& what, double n) {
    total.rows.push_back(
        {what, interval_text(e.energy_j * n, joules_text), interval_text(e.time_s * n, seconds_text)});
  };
  row("iteration", 1);
  if (job.iterations > 0) {
    row(fmt::format("epoch ({:.0f} iterations)", job.iterations_per_epoch), job.iterations_per_epoch);
    row(fmt::format("job ({} epoch{})", o.epochs, o.epochs == 1 ? "" : "s"), job.iterations);
  }
  print(total);
  if (e.composition_networks > 0) {
    fmt::print(
        "\n{}",
        wrapped(fmt::format("sums of layers are scaled by {:.3f}: {} whole networks were trained after "
                            "profiling to learn it",
                            e.composition_factor, e.composition_networks),
                2, terminal_width()));
  } else if (e.method == "split") {
    fmt::print("\n{}",
               wrapped("no whole network of this family was trained yet, so the interval is a cautious one "
                       "(ampere profile trains some)",
                       2, terminal_width()));
  }
}

void run(const Options& o) {
  const Model model = load_model(o.model.model);
  const Method& method = find_method(o.method);
  Store store(o.common.store);
  // Where nothing was measured yet, every kind is missing, and told as such.
  const StoredDevice device = o.common.device.empty() ? latest_device(store).value_or(StoredDevice{})
                                                      : choose_device(store, o.common.device);
  DeviceProfile profile(store, device.id, o.model.recipe.word());
  Estimate e;
  try {
    e = estimate_network(profile, method, model.network, o.model.batch);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotProfiled) throw;
    throw Error(error.kind(), fmt::format("{}\nrun: {}", error.what(), profile_command(o)));
  }
  const Job job = job_of(o);
  o.common.json ? print_json_estimate(o, device, model, e, job) : print_text(o, device, model, e, job);
}

}  // namespace

void add_estimate(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("estimate", "What training a network will cost: energy and time, with intervals");
  add_model_options(*verb, o->model);
  verb->add_option("--epochs", o->epochs, "Epochs of the job")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}));
  verb->add_option("--samples", o->samples, "Samples per epoch; gives figures per epoch and per job")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000000}));
  verb->add_option("--method", o->method, "split or paper");
  verb->add_flag("--all", o->all_layers, "Show all layers of deep networks");
  add_recipe_options(*verb, o->model);
  add_store_options(*verb, o->common);
  add_device_option(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere

// ampere tune: which batch, precision, optimizer, power limit or clock to train with, before anyone does.
#include "ampere/tune.h"

#include <fmt/core.h>

#include <map>
#include <memory>

#include "base/error.h"
#include "base/quantity_text.h"
#include "common.h"
#include "measure/recipe.h"
#include "profile_command.h"
#include "session/estimate.h"
#include "tariff_options.h"
#include "tune/search.h"
#include "tune_check.h"
#include "tune_output.h"
#include "tune_settings.h"
#include "verbs.h"

namespace ampere {
namespace {

struct TuneArguments {
  CommonOptions common;
  ModelOptions model;
  std::vector<std::int64_t> batches;  // the first is the present one
  std::vector<std::string> settings;
  std::string objective = "energy";
  std::string slower;
  std::string deadline;
  std::string device_price;
  std::string mode = "eager";
  TariffOptions tariff;
  TuneOptions tune;
  bool check = false;
  int checks = 4;
  double seconds = 5;
  std::string output;
};

// What is looked at when nothing is named: what changes no batch and no optimizer, as far as the device is
// known.
void usual_settings(TuneOptions& o, const LeverModel* levers) {
  o.precisions = kPrecisions;
  o.autotune = {false, true};
  if (levers != nullptr) o.power_limits_w = limits_of(*levers);
}

void read_arguments(TuneArguments& o) {
  if (!o.batches.empty()) {
    o.model.batch = o.batches.front();
    o.tune.batches = o.batches;
  }
  read_settings(o.settings, o.tune);
  for (const Objective objective :
       {Objective::kEnergy, Objective::kTime, Objective::kEnergyDelay, Objective::kCost}) {
    if (o.objective == to_word(objective)) o.tune.objective = objective;
  }
  if (!o.slower.empty()) o.tune.most_slower = parse_fraction(o.slower, "--slower", 0, 10);
  if (!o.deadline.empty()) o.tune.deadline_s = parse_duration(o.deadline, "--deadline").value();
  o.tune.tariff = o.tariff.tariff();
  o.tune.price_per_hour = price_per_hour(o.device_price);
  o.tune.mode = o.mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
}

// Estimates of the network under every batch and recipe that is asked for; what is fitted is kept.
class Bases {
 public:
  Bases(const TuneArguments& o, Store& store, const StoredDevice& device)
      : o_(o), store_(store), device_(device) {}

  const Network& network(std::int64_t batch) {
    auto found = networks_.find(batch);
    if (found == networks_.end()) {
      ModelOptions model = o_.model;
      model.batch = batch;
      found = networks_.emplace(batch, load_model(model, o_.common).network).first;
      parse_layers(found->second, batch);
    }
    return found->second;
  }

  DeviceProfile& profile(const Recipe& recipe) {
    const std::string word = stored_word(recipe, device_.fingerprint);
    auto& found = profiles_[word];
    if (!found) found = std::make_unique<DeviceProfile>(store_, device_.id, word);
    return *found;
  }

  std::optional<Estimate> estimate(std::int64_t batch, const Recipe& recipe, std::string& why) {
    try {
      return estimate_model(profile(recipe), network(batch), {batch, recipe},
                            {"split", o_.tune.mode, false, false, 0, 0});
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kNotProfiled) throw;
      why = "not profiled";
      return std::nullopt;
    }
  }

 private:
  const TuneArguments& o_;
  Store& store_;
  const StoredDevice& device_;
  std::map<std::int64_t, Network> networks_;
  std::map<std::string, std::unique_ptr<DeviceProfile>> profiles_;
};

void run(TuneArguments o) {
  read_arguments(o);
  if (!o.output.empty()) require_writable(o.output);
  if (o.check && !o.common.device.empty())
    throw bad_input("--check trains on the worker's device; leave --device away");
  std::optional<TuneChecker> checker;
  if (o.check) checker.emplace(o.common, o.tune, o.seconds, o.checks);
  Store store = Store::to_read(o.common.store);
  const StoredDevice device = checker ? checker->device(store) : device_asked_for(store, o.common.device);
  if (device.id.empty())
    throw Error(ErrorKind::kNotProfiled, fmt::format("{}: no device was profiled yet\nrun: {}", store.path(),
                                                     profile_command(o.model, o.common, "split")));
  Bases bases(o, store, device);
  const bool accelerator = device.fingerprint.value("type", "") == "cuda";
  const std::optional<LeverModel> levers =
      accelerator ? levers_of(bases.profile(o.model.recipe)) : std::nullopt;
  if (o.settings.empty()) usual_settings(o.tune, levers ? &*levers : nullptr);
  const EstimateBase base = [&](std::int64_t batch, const Recipe& recipe, std::string& why) {
    std::optional<Estimate> e = bases.estimate(batch, recipe, why);
    // What was named and nobody has measured is trained for a moment, where that is asked for.
    if (!e && checker && !o.settings.empty()) e = checker->train(bases.network(batch), batch, recipe);
    return e;
  };
  Tuned tuned;
  try {
    tuned =
        search_settings(candidates_of(setup_of(o.model), o.tune, base), o.tune, levers ? &*levers : nullptr);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kNotProfiled) throw;
    throw Error(e.kind(), fmt::format("the present setting is not known here: {}\nrun: {}", e.what(),
                                      profile_command(o.model, o.common, "split")));
  }
  TunedJob job{o.tune, device, bases.network(o.model.batch).name(), tuned, {}};
  if (checker)
    job.checks =
        checker->check(tuned, [&](std::int64_t batch) -> const Network& { return bases.network(batch); });
  const Json json = tuned_json(job);
  if (!o.output.empty())
    write_file(o.output, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  o.common.json ? print_json(json) : print_tuned(job);
}

}  // namespace

void add_tune(CLI::App& app) {
  auto o = std::make_shared<TuneArguments>();
  CLI::App* verb = app.add_subcommand("tune", "Which batch, precision, power limit or clock to train with");
  add_model_options(*verb, o->model, &o->batches);
  verb->add_option("--samples", o->tune.samples, "Samples per epoch")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000000}));
  verb->add_option("--epochs", o->tune.epochs, "Epochs of the job")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}));
  verb->add_option("--objective", o->objective, "What is to be little: energy, time, energy*delay or cost")
      ->check(CLI::IsMember({"energy", "time", "energy*delay", "cost"}));
  verb->add_option("--slower", o->slower, "At most so much longer than the present setting: 10%");
  verb->add_option("--deadline", o->deadline, "The job ends within this: 8h");
  verb->add_option("--settings", o->settings,
                   "What may change: limit=300,400 precision=bf16 optimizer=adam batch=64")
      ->type_name("KEY=VALUES");
  verb->add_option("--mode", o->mode, "How it will be trained: eager, or replay (steps captured in a graph)")
      ->check(CLI::IsMember({"eager", "replay"}));
  add_tariff_options(*verb, o->tariff);
  verb->add_option("--device-price", o->device_price,
                   "What an hour of the device costs, with --objective cost: 2.10/h");
  verb->add_flag("--check", o->check, "Train the best few for a moment, and choose again by what that shows");
  verb->add_option("--checks", o->checks, "With --check: most settings that are trained")
      ->check(CLI::Range(1, 100));
  verb->add_option("--seconds", o->seconds, "With --check: most seconds of training for each")
      ->check(CLI::Range(0.1, 600.0));
  verb->add_option("-o,--output", o->output,
                   "Write the JSON to this file, too; ampere report --results shows it");
  add_recipe_options(*verb, o->model);
  add_worker_options(*verb, o->common);
  add_store_options(*verb, o->common);
  add_device_option(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere

// ampere tune: which batch, precision, threads, power limit or clock to train with, before anyone does.
#include "ampere/tune.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/quantity_text.h"
#include "base/statistics.h"
#include "common.h"
#include "measure/recipe.h"
#include "profile_command.h"
#include "session/estimate.h"
#include "tariff_options.h"
#include "text.h"
#include "tune/search.h"
#include "tune_check.h"
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

constexpr double kLimitStep = 50;  // watts between limits that are looked at when none is named

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::size_t start = 0;
  while (start <= list.size()) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    words.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

double number_in(const std::string& text, const std::string& what, double low, double high) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= low && value <= high))
    throw bad_input(
        fmt::format("--settings {}: \"{}\" is no number from {:.6g} to {:.6g}", what, text, low, high));
  return value;
}

std::string without_unit(const std::string& text, const std::string& unit) {
  if (text.size() > unit.size() && text.compare(text.size() - unit.size(), unit.size(), unit) == 0)
    return text.substr(0, text.size() - unit.size());
  return text;
}

// "precision=bf16,default", "limit=300,400", "batch=32,64", "clock=1300", "threads=1,2", "autotune=on,off".
void read_settings(const std::vector<std::string>& given, TuneOptions& o) {
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    const std::string key = text.substr(0, equals);
    if (equals == std::string::npos)
      throw bad_input(
          fmt::format("--settings: \"{}\" cannot be read; write limit=300,400, precision=bf16,default, "
                      "batch=32,64, clock=1300, "
                      "threads=1,2 or autotune=on,off",
                      text));
    for (const std::string& word : words_of(text.substr(equals + 1))) {
      if (key == "batch") {
        o.batches.push_back(
            static_cast<std::int64_t>(number_in(word, key, 1, static_cast<double>(kMaxWidth))));
      } else if (key == "precision") {
        if (std::find(kPrecisions.begin(), kPrecisions.end(), word) == kPrecisions.end())
          throw bad_input("--settings precision: there is no \"" + word +
                          "\"; known: default, fp32, tf32, bf16");
        o.precisions.push_back(word);
      } else if (key == "limit") {
        o.power_limits_w.push_back(number_in(without_unit(word, "W"), key, 1, 1e5));
      } else if (key == "clock") {
        o.clocks_mhz.push_back(number_in(without_unit(word, "MHz"), key, 1, 1e5));
      } else if (key == "threads") {
        o.threads.push_back(static_cast<int>(number_in(word, key, 1, 4096)));
      } else if (key == "autotune") {
        if (word != "on" && word != "off")
          throw bad_input("--settings autotune is on or off, not \"" + word + "\"");
        o.autotune.push_back(word == "on");
      } else {
        throw bad_input(fmt::format(
            "--settings: there is no \"{}\"; known: batch, precision, limit, clock, threads, autotune", key));
      }
    }
  }
}

// What is looked at when nothing is named: what changes no batch, as far as the device is known.
void usual_settings(TuneOptions& o, const LeverModel* levers, bool accelerator) {
  o.precisions = kPrecisions;
  o.autotune = {false, true};
  if (levers == nullptr || !accelerator) return;
  const LeverDevice& d = levers->device();
  const double first = std::ceil(d.least_limit_w / kLimitStep) * kLimitStep;
  for (double limit = first; limit < d.usual_limit_w; limit += kLimitStep) o.power_limits_w.push_back(limit);
}

double price_per_hour(const std::string& text) {
  if (text.empty()) return 0;
  const std::string number = without_unit(text, "/h");
  std::string digits = number;
  while (!digits.empty() && std::string("0123456789.").find(digits.back()) == std::string::npos)
    digits.pop_back();
  const std::size_t first = digits.find_first_of("0123456789.");
  char* end = nullptr;
  const double price = first == std::string::npos ? -1 : std::strtod(digits.c_str() + first, &end);
  if (number == text || !(price >= 0 && price < 1e9) || end == nullptr || *end != '\0')
    throw bad_input("--device-price: \"" + text +
                    "\" cannot be read; write what an hour of the device costs, such as 2.10/h");
  return price;
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

std::string setting_text(const TrainingSetting& s) {
  return fmt::format("batch {}, {}, {}", s.batch, s.recipe.word(),
                     PowerSetting{s.power_limit_w, s.clock_mhz}.text());
}

std::string share_text(const Interval& saved) {
  // Rounded so that an interval around nothing is read as nothing.
  return fmt::format("{:.1f}% ({:.1f}% to {:.1f}%)", 100 * saved.value, 100 * saved.low, 100 * saved.high);
}

std::string change_of_time(const Interval& saved) {
  return saved.value >= 0 ? fmt::format("{:.1f}% quicker", 100 * saved.value)
                          : fmt::format("{:.1f}% slower", -100 * saved.value);
}

void print_outcomes(const TuneArguments& o, const Tuned& t) {
  Table table{{"", "batch", "recipe", "power", "energy (95% interval)", "time (95% interval)"},
              {},
              {false, true, false, false, false, false},
              2};
  if (o.tune.tariff.price_per_kwh || o.tune.price_per_hour > 0) table.header.push_back("cost");
  if (o.tune.tariff.carbon_g_per_kwh) table.header.push_back("emits");
  auto row = [&](std::size_t i) {
    const TuneOutcome& x = t.outcomes[i];
    const std::string mark = i == t.best && i == t.present ? "best, now"
                             : i == t.best                 ? "best"
                             : i == t.present              ? "now"
                                                           : "";
    table.rows.push_back({mark + (x.measured ? "*" : ""), std::to_string(x.setting.batch),
                          x.setting.recipe.word(),
                          PowerSetting{x.setting.power_limit_w, x.setting.clock_mhz}.text(),
                          interval_text(x.energy_j, joules_text), interval_text(x.time_s, duration_text)});
    if (x.cost) table.rows.back().push_back(money_text(x.cost->value, o.tune.tariff.currency));
    if (o.tune.tariff.carbon_g_per_kwh)
      table.rows.back().push_back(carbon_text(bill_of(o.tune.tariff, x.energy_j).carbon_g->value));
  };
  const bool shown = t.outcomes[t.present].on_front;
  for (const std::size_t i : t.front) row(i);
  if (!shown) row(t.present);
  if (!t.outcomes[t.best].on_front) row(t.best);
  print(table);
}

void print_text(const TuneArguments& o, const StoredDevice& device, const std::string& model, const Tuned& t,
                const std::vector<TuneCheckResult>& checks) {
  print("{} on {}, {} samples, {} epoch{}, meter {}{}\n", model, device.fingerprint.value("name", "?"),
        o.tune.samples, o.tune.epochs, o.tune.epochs == 1 ? "" : "s", device.fingerprint.value("meter", "?"),
        t.modelled ? " (modelled, not measured, energy)" : "");
  print("{} settings; those below are the ones that no other beats in both energy and time{}\n\n",
        t.outcomes.size(), t.outcomes[t.present].on_front ? "" : ", and the present one");
  print_outcomes(o, t);
  print("\n");
  const TuneOutcome& best = t.outcomes[t.best];
  if (t.best == t.present) {
    say(fmt::format("for {} the present setting is the best of them", to_word(o.tune.objective)));
  } else {
    say(fmt::format("for {}: {}. Against the present setting it saves {} of the energy and is {}",
                    to_word(o.tune.objective), setting_text(best.setting), share_text(t.saved_energy),
                    change_of_time(t.saved_time)));
    for (std::size_t i = 0; i < t.steps.size(); ++i) {
      const TuneStep& s = t.steps[i];
      say(fmt::format("  {} saves {}{}, {}", s.change, i ? "another " : "", share_text(s.energy),
                      change_of_time(s.time)));
    }
    for (std::size_t i = 1; i < t.singles.size(); ++i) {  // the first step is by itself already
      const TuneStep& s = t.singles[i];
      say(fmt::format("  by itself, {} saves {}, {}", s.change, share_text(s.energy),
                      change_of_time(s.time)));
    }
    if (best.setting.recipe.precision != t.outcomes[t.present].setting.recipe.precision ||
        best.setting.batch != t.outcomes[t.present].setting.batch)
      say("another precision or batch changes how the network learns; whether it reaches the same accuracy "
          "is not judged here");
    if (best.setting.power_limit_w > 0 || best.setting.clock_mhz > 0)
      say(fmt::format("to train so: ampere run {} -- COMMAND",
                      best.setting.power_limit_w > 0
                          ? fmt::format("--power-limit {:.6g}", best.setting.power_limit_w)
                          : fmt::format("--clock {:.6g}", best.setting.clock_mhz)));
  }
  for (const TuneCheckResult& c : checks) {
    say(fmt::format(
        "* trained for a moment: {}: {} and {} for the job, {:+.1f}% and {:+.1f}% off the estimate{}",
        setting_text(c.setting), joules_text(c.energy_j), seconds_text(c.time_s),
        100 * (c.energy_j / c.estimated_energy_j - 1), 100 * (c.time_s / c.estimated_time_s - 1),
        c.note.empty() ? "" : "; " + c.note));
  }
  if (!t.left_out.empty())
    say(fmt::format(
        "{} combinations of batch and recipe are not known here, such as {}; ampere profile measures them",
        t.left_out.size(), t.left_out.front()));
}

Json setting_json(const TrainingSetting& s) {
  return {{"batch", s.batch},
          {"recipe", s.recipe.word()},
          {"precision", s.recipe.precision},
          {"autotune", s.recipe.autotune},
          {"threads", s.recipe.threads},
          {"power_limit_w", s.power_limit_w > 0 ? Json(s.power_limit_w) : Json()},
          {"clock_mhz", s.clock_mhz > 0 ? Json(s.clock_mhz) : Json()}};
}

Json share_json(const Interval& i) { return {{"value", i.value}, {"low", i.low}, {"high", i.high}}; }

Json steps_json(const std::vector<TuneStep>& steps) {
  Json out = Json::array();
  for (const TuneStep& s : steps)
    out.push_back(
        {{"change", s.change}, {"energy_saved", share_json(s.energy)}, {"time_saved", share_json(s.time)}});
  return out;
}

Json tuned_json(const TuneArguments& o, const StoredDevice& device, const std::string& model, const Tuned& t,
                const std::vector<TuneCheckResult>& checks) {
  Json out = json_header(device.fingerprint, t.modelled);
  out["device_id"] = device.id;
  out["model"] = model;
  out["samples"] = o.tune.samples;
  out["epochs"] = o.tune.epochs;
  out["objective"] = to_word(o.tune.objective);
  out["most_slower"] = o.tune.most_slower ? Json(*o.tune.most_slower) : Json();
  out["deadline_s"] = o.tune.deadline_s ? Json(*o.tune.deadline_s) : Json();
  put_tariff(out, o.tune.tariff);
  out["present"] = t.present;
  out["best"] = t.best;
  out["front"] = t.front;
  out["energy_saved"] = share_json(t.saved_energy);
  out["time_saved"] = share_json(t.saved_time);
  out["steps"] = steps_json(t.steps);
  out["singles"] = steps_json(t.singles);
  out["left_out"] = t.left_out;
  out["outcomes"] = Json::array();
  for (const TuneOutcome& x : t.outcomes) {
    Json j = setting_json(x.setting);
    j["energy_j"] = x.energy_j.value;
    j["energy_low_j"] = x.energy_j.low;
    j["energy_high_j"] = x.energy_j.high;
    j["time_s"] = x.time_s.value;
    j["time_low_s"] = x.time_s.low;
    j["time_high_s"] = x.time_s.high;
    j["on_front"] = x.on_front;
    j["allowed"] = x.allowed;
    j["measured"] = x.measured;
    put_bill(j, o.tune.tariff, x.energy_j);
    if (x.cost) {  // with the device's hours
      j["cost"] = x.cost->value;
      j["cost_low"] = x.cost->low;
      j["cost_high"] = x.cost->high;
    }
    out["outcomes"].push_back(j);
  }
  out["checks"] = Json::array();
  for (const TuneCheckResult& c : checks) {
    Json j = setting_json(c.setting);
    j["energy_j"] = c.energy_j;
    j["time_s"] = c.time_s;
    j["estimated_energy_j"] = c.estimated_energy_j;
    j["estimated_time_s"] = c.estimated_time_s;
    j["note"] = c.note;
    out["checks"].push_back(j);
  }
  return out;
}

void run(TuneArguments o) {
  read_arguments(o);
  if (!o.output.empty()) require_writable(o.output);
  if (o.check && !o.common.device.empty())
    throw bad_input("--check trains on the worker's device; leave --device away");
  std::optional<TuneChecker> checker;
  if (o.check) checker.emplace(o.common, o.tune, o.seconds, o.checks);
  Store store = Store::to_read(o.common.store);
  StoredDevice device;
  if (checker) {
    device = checker->device(store);
  } else {
    device = o.common.device.empty() ? latest_device(store).value_or(StoredDevice{})
                                     : choose_device(store, o.common.device);
  }
  Bases bases(o, store, device);
  const bool accelerator = device.fingerprint.value("type", "") == "cuda";
  const std::optional<LeverModel> levers =
      accelerator ? levers_of(bases.profile(o.model.recipe)) : std::nullopt;
  if (o.settings.empty()) usual_settings(o.tune, levers ? &*levers : nullptr, accelerator);
  const EstimateBase base = [&](std::int64_t batch, const Recipe& recipe, std::string& why) {
    std::optional<Estimate> e = bases.estimate(batch, recipe, why);
    // What was named and nobody has measured is trained for a moment, where that is asked for.
    if (!e && checker && !o.settings.empty()) e = checker->train(bases.network(batch), batch, recipe);
    return e;
  };
  Tuned tuned;
  try {
    tuned = search_settings(setup_of(o.model), o.tune, base, levers ? &*levers : nullptr);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kNotProfiled) throw;
    throw Error(e.kind(), fmt::format("the present setting is not known here: {}\nrun: {}", e.what(),
                                      profile_command(o.model, o.common, "split")));
  }
  std::vector<TuneCheckResult> checks;
  if (checker)
    checks =
        checker->check(tuned, [&](std::int64_t batch) -> const Network& { return bases.network(batch); });
  const std::string name = bases.network(o.model.batch).name();
  const Json json = tuned_json(o, device, name, tuned, checks);
  if (!o.output.empty())
    write_file(o.output, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  o.common.json ? print_json(json) : print_text(o, device, name, tuned, checks);
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
                   "What may change: limit=300,400 precision=bf16 batch=64 threads=1,2")
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

// ampere detect: what can train and what can be metered here.
#include <memory>

#include "base/error.h"
#include "calibrate.h"
#include "common.h"
#include "progress.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

// A worker of another make may not know how to watch its meters.
Json detect_with_characters(WorkerClient& worker) {
  try {
    return worker.detect(true);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kBadInput) throw;
    return worker.detect();
  }
}

std::string quantity(const Json& character, const char* key, std::string (*text)(double)) {
  const auto it = character.find(key);
  return it == character.end() || !it->is_number() ? "" : text(it->get<double>());
}

// Of the last seconds, read after the work: energy is told in a fraction of a second then.
std::string kept(const Json& meter) {
  const std::string every = quantity(meter, "samples_s", seconds_text);
  return every.empty() ? "no" : "every " + every;
}

void print_device(const Json& device) {
  for (const auto& [key, value] : device.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (!text.empty()) print("{:<14}{}\n", key, text);
  }
  print("\n");
}

void print_usable(const Json& meters, const std::string& preferred) {
  Table table{
      {"meter", "scope", "kind", "tick", "one read", "resolution", "keeps power", "idle power"}, {}, {}, -1};
  table.right = {false, false, false, true, true, true, true, true};
  for (const Json& m : meters) {
    JsonReader meter(m, "meter");
    if (!meter.boolean("available")) continue;
    const Json character = meter.has("character") ? meter.object("character") : Json::object();
    const bool continuous = character.value("continuous", false);
    const std::string name = meter.text("name");
    table.rows.push_back({name + (name == preferred ? " *" : ""), meter.text("scope", ""),
                          meter.boolean("modelled", false) ? "modelled" : "measured",
                          continuous ? "none" : quantity(character, "tick_s", seconds_text),
                          quantity(character, "read_s", seconds_text),
                          quantity(character, "resolution_j", joules_text), kept(m),
                          quantity(character, "idle_power_w", watts_text)});
  }
  print(table);
}

void print_why(const Json& meters, const std::string& preferred) {
  for (const Json& m : meters) {
    JsonReader meter(m, "meter");
    if (meter.text("name") != preferred) continue;
    std::string why =
        "* the default: " + meter.text("description", "") +
        "; chosen as the first usable meter, in order of trust, that sees the device that trains";
    if (meter.boolean("modelled", false))
      why += "; its energy is modelled, not measured, and every figure made with it says so";
    print("\n{}", wrapped(why, 2, terminal_width()));
  }
  print("\nnot usable here:\n");
  for (const Json& m : meters) {
    JsonReader meter(m, "meter");
    if (!meter.boolean("available")) {
      print("{}", wrapped(meter.text("name") + ": " + meter.text("why", ""), 2, terminal_width()));
    }
  }
}

void run_detect(const CommonOptions& options) {
  WorkerClient worker(worker_options(options.worker));
  Json found = [&] {
    // Every usable meter is watched for two seconds or so; how many there are shows afterwards.
    const Countdown bar("watching meters", 6, options.quiet || options.json);
    return detect_with_characters(worker);
  }();
  if (options.json) {
    found["schema_version"] = kOutputSchemaVersion;
    print_json(found);
    return;
  }
  read_answer(worker, [&] {
    JsonReader r(found, "detect");
    const std::string preferred = options.meter.empty() ? r.text("default_meter", "") : options.meter;
    print_device(r.object("device"));
    print_usable(r.array("meters"), preferred);
    print_why(r.array("meters"), preferred);
  });
}

}  // namespace

void add_detect(CLI::App& app) {
  auto options = std::make_shared<CommonOptions>();
  auto calibrate = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("detect", "What can train and what can be metered here");
  verb->add_option("--calibrate", *calibrate,
                   "Find the watts of cpu-model with this meter, by keeping one core busy")
      ->type_name("METER");
  add_output_options(*verb, *options);
  add_worker_options(*verb, *options);
  verb->callback([options, calibrate] {
    calibrate->empty() ? run_detect(*options) : run_calibrate(*calibrate, *options);
  });
}

}  // namespace ampere

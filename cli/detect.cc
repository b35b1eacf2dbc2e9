// ampere detect: what can train and what can be metered here.
#include <fmt/core.h>

#include <memory>

#include "common.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

void print_text(const Json& found);

void run_detect(const CommonOptions& options) {
  WorkerClient worker(worker_options(options));
  Json found = worker.detect();
  if (options.json) {
    found["schema_version"] = kOutputSchemaVersion;
    print_json(found);
    return;
  }
  read_answer(worker, [&] { print_text(found); });
}

void print_text(const Json& found) {
  JsonReader r(found, "detect");
  const Json& device = r.object("device");
  fmt::print("Device\n");
  for (const auto& [key, value] : device.items()) {
    fmt::print("  {:<14}{}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  fmt::print("\n");
  Table table{{"meter", "scope", "usable", "kind", "what it is, or what it lacks"}, {}, {}, 4};
  const std::string preferred = r.text("default_meter", "");
  for (const Json& m : r.array("meters")) {
    JsonReader meter(m, "meter");
    const bool available = meter.boolean("available");
    const std::string name = meter.text("name");
    table.rows.push_back({name + (name == preferred ? " *" : ""), meter.text("scope", ""),
                          available ? "yes" : "no",
                          meter.boolean("modelled", false) ? "modelled" : "measured",
                          available ? meter.text("description", "") : meter.text("why", "")});
  }
  print(table);
  if (!preferred.empty()) fmt::print("* the default\n");
}

}  // namespace

void add_detect(CLI::App& app) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* verb = app.add_subcommand("detect", "What can train and what can be metered here");
  add_output_options(*verb, *options);
  add_worker_options(*verb, *options);
  verb->callback([options] { run_detect(*options); });
}

}  // namespace ampere

// ampere store: what was measured so far.
#include <fmt/core.h>

#include <memory>

#include "common.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

void run_list(const CommonOptions& o) {
  const Store store(o.store);
  Json devices = Json::array();
  Table table{{"device", "name", "meter", "last used", "surfaces", "points"},
              {},
              {false, false, false, false, true, true},
              1};
  for (const StoredDevice& d : store.devices()) {
    int points = 0;
    const auto surfaces = store.surfaces(d.id);
    for (const SurfaceCount& s : surfaces) points += s.points;
    table.rows.push_back({d.id, d.fingerprint.value("name", "?"), d.fingerprint.value("meter", "?"),
                          d.last_used, std::to_string(surfaces.size()), std::to_string(points)});
    devices.push_back({{"id", d.id},
                       {"fingerprint", d.fingerprint},
                       {"last_used", d.last_used},
                       {"surfaces", surfaces.size()},
                       {"points", points}});
  }
  if (o.json)
    print_json({{"schema_version", kOutputSchemaVersion}, {"store", store.path()}, {"devices", devices}});
  else
    print(table);
}

void run_show(const CommonOptions& o) {
  const Store store(o.store);
  const StoredDevice device = choose_device(store, o.device);
  Json rows = Json::array();
  Table table{{"recipe", "surface", "points"}, {}, {false, false, true}, 1};
  for (const SurfaceCount& s : store.surfaces(device.id)) {
    table.rows.push_back({s.recipe, s.surface, std::to_string(s.points)});
    rows.push_back({{"recipe", s.recipe}, {"surface", s.surface}, {"points", s.points}});
  }
  if (o.json)
    print_json({{"schema_version", kOutputSchemaVersion},
                {"device_id", device.id},
                {"device", device.fingerprint},
                {"surfaces", rows}});
  else
    print(table);
}

}  // namespace

void add_store(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("store", "What was measured so far");
  verb->require_subcommand(1);
  auto add = [&](const char* name, const char* help, bool one_device, void (*run)(const CommonOptions&)) {
    auto options = std::make_shared<CommonOptions>();
    CLI::App* sub = verb->add_subcommand(name, help);
    add_store_options(*sub, *options);
    if (one_device) add_device_option(*sub, *options);
    add_output_options(*sub, *options);
    sub->callback([options, run] { run(*options); });
  };
  add("list", "Devices, and how much is known of each", false, run_list);
  add("show", "Surfaces of one device", true, run_show);
}

}  // namespace ampere

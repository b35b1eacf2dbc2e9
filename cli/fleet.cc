// ampere fleet: many devices at the same time.
#include <fmt/core.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>

#include "base/error.h"
#include "fleet/together.h"
#include "fleet_table.h"
#include "fleet_verbs.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

constexpr const char* kUsualFile = "fleet.json";

std::string usual_file() {
  const char* named = std::getenv("AMPERE_FLEET");
  return named && *named ? named : kUsualFile;
}

void run_detect(const FleetArguments& o) {
  const Fleet fleet = fleet_of(o);
  std::vector<FleetOutcome> outcomes(fleet.devices.size());
  {
    FleetTable progress(fleet, o.common.quiet || o.common.json);
    for_each_device(fleet, [&](std::size_t i) {
      progress.begins(i, "asking");
      outcomes[i] = with_session(o, fleet.devices[i], [](const Session&, FleetOutcome&) {});
      const FleetOutcome& out = outcomes[i];
      progress.ends(i, out.error.empty(), out.error.empty() ? out.fingerprint.value("name", "?") : out.error);
    });
  }
  Json rows = Json::array();
  Table table{{"name", "device", "meter", "id", "reached by"}, {}, {}, 1};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const FleetOutcome& out = outcomes[i];
    rows.push_back(to_json(fleet.devices[i], out));
    table.rows.push_back({fleet.devices[i].name, out.error.empty() ? out.fingerprint.value("name", "?") : "-",
                          out.meter, out.device_id, fleet.devices[i].reach});
  }
  if (o.common.json)
    print_json({{"schema_version", kOutputSchemaVersion}, {"devices", rows}});
  else
    print(table);
  end_with(o, fleet, outcomes);
}

}  // namespace

void add_fleet_options(CLI::App& verb, FleetArguments& o, bool reaches) {
  o.file = usual_file();
  verb.add_option("--file", o.file, "The file of devices (docs/fleet.md); fleet.json [AMPERE_FLEET]");
  if (reaches)
    verb.add_option("--at-once", o.at_once, "Devices at the same time, instead of the file's at_once")
        ->check(CLI::Range(1, 512));
  add_store_options(verb, o.common);
  add_output_options(verb, o.common);
}

Fleet fleet_of(const FleetArguments& o) {
  Fleet fleet = read_fleet(o.file);
  if (o.at_once > 0) fleet.at_once = o.at_once;
  return fleet;
}

FleetOutcome with_session(const FleetArguments& o, const FleetDevice& device,
                          const std::function<void(const Session&, FleetOutcome&)>& then) {
  FleetOutcome out;
  std::optional<Session> session;
  try {
    session = open_session(SessionOptions{o.common.store, device.command(), device.meter});
    out.fingerprint = session->fingerprint;
    out.device_id = session->device_id;
    out.meter = session->meter;
    session->store->put_fact(session->device_id, "", fleet_fact(device.name),
                             {{"reach", device.reach}, {"seen_at", utc_now()}});
    then(*session, out);
    if (!session->store->aside().empty()) session->store->deliver();
  } catch (const std::exception& e) {
    out.error = e.what();
  }
  if (session) out.waits_in = session->store->aside();
  return out;
}

Json to_json(const FleetDevice& device, const FleetOutcome& out) {
  return {{"name", device.name},
          {"reach", device.reach},
          {"device_id", out.device_id.empty() ? Json(nullptr) : Json(out.device_id)},
          {"device", out.fingerprint.is_null() ? Json(nullptr) : out.fingerprint},
          {"meter", out.meter.empty() ? Json(nullptr) : Json(out.meter)},
          {"error", out.error.empty() ? Json(nullptr) : Json(out.error)}};
}

void end_with(const FleetArguments& o, const Fleet& fleet, const std::vector<FleetOutcome>& outcomes) {
  std::size_t failed = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].waits_in.empty()) {
      warn(fmt::format("{}: the store is away; what was measured waits in {}; see: ampere store deliver",
                       fleet.devices[i].name, outcomes[i].waits_in));
    }
    if (outcomes[i].error.empty()) continue;
    ++failed;
    if (!o.common.json) print("{}: failed: {}\n", fleet.devices[i].name, outcomes[i].error);
  }
  if (failed == 0) return;
  throw Error(ErrorKind::kFailed,
              fmt::format("{} of {} devices failed; every point that was measured is kept, and the same "
                          "command goes on from there",
                          failed, outcomes.size()));
}

void add_fleet(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("fleet", "Many devices at the same time, from a file of them");
  verb->require_subcommand(1);
  auto detect = std::make_shared<FleetArguments>();
  CLI::App* sub = verb->add_subcommand("detect", "What each device is, and how it is metered");
  add_fleet_options(*sub, *detect, true);
  sub->callback([detect] { run_detect(*detect); });
  add_fleet_profile(*verb);
  add_fleet_estimate(*verb);
}

}  // namespace ampere

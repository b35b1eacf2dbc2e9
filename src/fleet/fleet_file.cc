#include "fleet/fleet_file.h"

#include <set>

#include "ampere/tariff.h"
#include "base/error.h"
#include "base/plain_text.h"
#include "protocol/worker_client.h"

namespace ampere {
namespace {

constexpr std::int64_t kMostAtOnce = 512;  // a thread, two pipes and a process each
constexpr std::size_t kLongestName = 200;

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

FleetDevice device_from(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  r.only({"name", "reach", "worker", "meter", "price", "carbon"});
  FleetDevice d{r.text("name"),      r.text("reach"),     r.text("worker", ""),
                r.text("meter", ""), r.text("price", ""), r.text("carbon", "")};
  if (d.name.empty() || d.name.size() > kLongestName || plain_line(d.name) != d.name)
    throw bad_input(where + ": a name is one line of 1 to 200 characters");
  if (d.reach.find_first_not_of(' ') != 0)
    throw bad_input(where +
                    ": \"reach\" must say how to get there: local, ssh HOST, srun ..., adb -s SERIAL");
  try {
    tariff_of(d.price, d.carbon);
  } catch (const Error& e) {
    throw bad_input(where + ": " + e.what());
  }
  return d;
}

}  // namespace

std::string FleetDevice::command() const {
  const std::string program = worker.empty() ? "ampere-worker" : worker;
  const std::string how = first_word(reach);
  if (reach == "local") return worker.empty() ? default_worker_command() : worker;
  // Nobody is there to answer when ssh asks for a password.
  if (how == "ssh") return "ssh -o BatchMode=yes" + reach.substr(how.size()) + " " + program;
  if (how == "adb") return reach + " shell " + program;
  return reach + " " + program;
}

Fleet fleet_from_json(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  r.only({"at_once", "devices"});
  Fleet fleet;
  fleet.at_once = static_cast<int>(r.integer_between("at_once", fleet.at_once, 1, kMostAtOnce));
  std::set<std::string> names;
  for (const Json& device : r.array("devices")) {
    const std::string at = where + ": device " + std::to_string(fleet.devices.size() + 1);
    fleet.devices.push_back(device_from(device, at));
    if (!names.insert(fleet.devices.back().name).second)
      throw bad_input(at + ": a second one is called \"" + fleet.devices.back().name + "\"");
  }
  if (fleet.devices.empty()) throw bad_input(where + ": has no devices");
  return fleet;
}

Fleet read_fleet(const std::string& path) { return fleet_from_json(read_json_file(path), path); }

std::string fleet_fact(const std::string& name) { return "fleet/" + name; }

}  // namespace ampere

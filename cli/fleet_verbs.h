// What the verbs of `ampere fleet` share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common.h"
#include "fleet/fleet_file.h"

namespace ampere {

struct FleetArguments {
  CommonOptions common;
  std::string file;
  int at_once = 0;  // 0: as the file says
};

// `reaches`: the verb talks to the devices.
void add_fleet_options(CLI::App& verb, FleetArguments& options, bool reaches);
Fleet fleet_of(const FleetArguments& options);

// What became of one device.
struct FleetOutcome {
  std::string error;  // empty: it went well
  Json fingerprint;
  std::string device_id;
  std::string meter;
  int measured = 0;  // points
  int reused = 0;
  std::string waits_in;  // the file that points wait in while the server is away
};

// Opens a session on the device, remembers which one is called so, and goes on with `then`. Throws nothing:
// what goes wrong is in the outcome.
FleetOutcome with_session(const FleetArguments& options, const FleetDevice& device,
                          const std::function<void(const Session&, FleetOutcome&)>& then);
Json to_json(const FleetDevice& device, const FleetOutcome& outcome);
// Devices that failed are told below the table, and Error{kFailed} is thrown then.
void end_with(const FleetArguments& options, const Fleet& fleet, const std::vector<FleetOutcome>& outcomes);

void add_fleet_profile(CLI::App& verb);
void add_fleet_estimate(CLI::App& verb);

}  // namespace ampere

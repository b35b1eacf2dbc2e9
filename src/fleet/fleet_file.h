// A file of devices and how each of them is reached (docs/fleet.md).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace ampere {

struct FleetDevice {
  std::string name;    // unique in the file
  std::string reach;   // "local", "ssh HOST", "srun -p gpu -w node7", "adb -s SERIAL", or any command
  std::string worker;  // the program there; empty: ampere-worker
  std::string meter;   // empty: the worker's default
  // What energy costs where it stands (ampere/tariff.h); empty: not told.
  std::string price = {}, carbon = {};

  // The command line that starts a worker on the device.
  std::string command() const;
};

struct Fleet {
  int at_once = 16;  // devices that are worked on at the same time
  std::vector<FleetDevice> devices;
};

// Throws Error{kBadInput} that says where it is wrong.
Fleet read_fleet(const std::string& path);
Fleet fleet_from_json(const Json& json, const std::string& where);

// The fact by which a store knows a device's name in files of fleets.
std::string fleet_fact(const std::string& name);

}  // namespace ampere

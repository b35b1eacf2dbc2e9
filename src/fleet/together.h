// Work on many devices at the same time.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "fleet/fleet_file.h"

namespace ampere {

// Calls `work` once for each device of the fleet, in threads of their own, with at most `at_once` of them
// running. Devices that are reached in the same way are one machine, and are worked on one after the other.
// `work` must not throw.
void for_each_device(const Fleet& fleet, const std::function<void(std::size_t)>& work);

// One at a time for each name: devices of one kind share a profile, and what the first of them has measured
// the others need not.
class TakeTurns {
 public:
  // Held until what is returned goes.
  std::unique_lock<std::mutex> wait_for(const std::string& name);

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<std::mutex>> turns_;
};

}  // namespace ampere

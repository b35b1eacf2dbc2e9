// What many devices are doing, as one table on standard error.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "ampere/device.h"
#include "fleet/fleet_file.h"

namespace ampere {

// Redraws a few lines on a terminal; elsewhere prints a line whenever a device begins something else. Quiet
// prints nothing. May be called from several threads.
class FleetTable {
 public:
  FleetTable(const Fleet& fleet, bool quiet);
  ~FleetTable();
  FleetTable(const FleetTable&) = delete;
  FleetTable& operator=(const FleetTable&) = delete;

  void begins(std::size_t device, const std::string& what);
  void steps(std::size_t device, const Step& step);
  void ends(std::size_t device, bool well, const std::string& what);

 private:
  enum class State { kWaits, kWorks, kDone, kFailed };
  struct Row {
    State state = State::kWaits;
    std::string what;
    std::string how_far;
  };

  void tell(std::size_t device);
  void draw(bool at_once);
  void clear();
  std::string summary() const;

  const Fleet& fleet_;
  bool quiet_;
  bool terminal_;
  std::mutex mutex_;
  std::vector<Row> rows_;
  int drawn_ = 0;  // lines
  std::chrono::steady_clock::time_point drawn_at_{};
};

}  // namespace ampere

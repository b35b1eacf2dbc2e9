// One device's jobs one behind the other: when the next can start, so that time and battery suffice.
#pragma once

#include <vector>

#include "schedule/problem.h"
#include "schedule/supply.h"

namespace ampere {

// What a plan sets aside for a job on a device.
struct Demand {
  bool possible = false;
  double energy_j = 0;  // stays under it with the chosen probability
  double slot_s = 0;    // so does its time
  double run_s = 0;  // how long it draws that energy: the median time, so that its power is not understated
};

// Where a device stands when a job has ended.
struct LaneState {
  double time_s = 0;
  double level_j = 0;
};

// Where a job would go behind others, or by how much it fails to.
struct Slot {
  bool fits = false;
  double start_s = 0;
  double lowest_j = 0;  // of the battery, from the state before to the end of the slot
  LaneState after;
  // The least by which it fails, where it does: exactly one of them is positive.
  double late_s = 0;   // its end lies so long behind the deadline or the end of the device's last window
  double short_j = 0;  // the battery falls so far below its reserve
};

// The earliest start at or after `earliest_s` and the state, that ends by `latest_s` within one window.
// Starting earlier is never worse for what follows: the device is free sooner, and a battery that is drained
// sooner can take more of what the charger offers.
Slot next_slot(const Supply& supply, const std::vector<TimeWindow>& available, const LaneState& state,
               const Demand& demand, double earliest_s, double latest_s);

LaneState initial_state(const Supply& supply);

}  // namespace ampere

// The battery of one device over time: charged while plugged in, drained by jobs and by the background.
#pragma once

#include <vector>

#include "schedule/problem.h"

namespace ampere {

class Supply {
 public:
  explicit Supply(const ScheduleDevice& device);

  // Levels stand still, and nothing runs dry, without a battery.
  bool has_battery() const { return has_battery_; }
  double initial_j() const { return initial_j_; }
  double reserve_j() const { return reserve_j_; }

  struct Level {
    double level_j = 0;   // at the end
    double lowest_j = 0;  // on the way, both ends included
  };
  // From a level at one time to another, while `draw_w` is drawn on top of the background. A full battery
  // takes no more. Levels below zero are told as they are: by how much the battery would have been short.
  Level advance(double level_j, double from_s, double to_s, double draw_w) const;
  // When the battery is full if nothing runs; kNever when it will not be before `until_s`.
  double full_at(double level_j, double from_s, double until_s) const;
  // What could be taken from it until then, were it never full: its charge above the reserve and all it is
  // fed.
  double usable_j(double until_s) const;
  // When what flows into the battery changes, in order.
  const std::vector<double>& changes_s() const { return changes_s_; }
  // Whether it is ever fed at or after this time.
  bool fed_after(double time_s) const { return time_s < last_fed_s_; }

 private:
  std::size_t segment_at(double time_s) const;

  bool has_battery_ = false;
  double initial_j_ = 0, reserve_j_ = 0, capacity_j_ = 0;
  double last_fed_s_ = 0;
  std::vector<double> changes_s_;  // starts of segments; the first is 0
  std::vector<double> net_w_;      // charger less background, per segment
};

}  // namespace ampere

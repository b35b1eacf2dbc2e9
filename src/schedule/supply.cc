#include "schedule/supply.h"

#include <algorithm>
#include <cmath>

namespace ampere {

Supply::Supply(const ScheduleDevice& device) : has_battery_(device.battery.has_value()) {
  changes_s_.push_back(0);
  net_w_.push_back(-device.background_w);
  if (!has_battery_) return;
  initial_j_ = device.battery->charge_j;
  reserve_j_ = device.battery->reserve_j;
  capacity_j_ = device.battery->capacity_j;
  if (!device.charger) return;
  const double fed_w = device.charger->power_w - device.background_w;
  for (const TimeWindow& w : device.charger->plugged) {
    if (w.start_s > changes_s_.back()) {
      changes_s_.push_back(w.start_s);
      net_w_.push_back(fed_w);
    } else {
      net_w_.back() = fed_w;
    }
    if (fed_w > 0) last_fed_s_ = w.end_s;
    if (w.end_s == kNever) break;
    changes_s_.push_back(w.end_s);
    net_w_.push_back(-device.background_w);
  }
}

std::size_t Supply::segment_at(double time_s) const {
  // Few segments, and mostly the first ones: a plain walk is faster than bisection.
  std::size_t i = 0;
  while (i + 1 < changes_s_.size() && changes_s_[i + 1] <= time_s) ++i;
  return i;
}

Supply::Level Supply::advance(double level_j, double from_s, double to_s, double draw_w) const {
  Level now{level_j, level_j};
  if (!has_battery_) return now;
  double time = from_s;
  for (std::size_t i = segment_at(from_s); time < to_s; ++i) {
    const double end = i + 1 < changes_s_.size() ? std::min(to_s, changes_s_[i + 1]) : to_s;
    now.level_j = std::min(capacity_j_, now.level_j + (net_w_[i] - draw_w) * (end - time));
    now.lowest_j = std::min(now.lowest_j, now.level_j);
    time = end;
  }
  return now;
}

double Supply::full_at(double level_j, double from_s, double until_s) const {
  if (!has_battery_) return kNever;
  double time = from_s;
  for (std::size_t i = segment_at(from_s); time < until_s; ++i) {
    const double end = i + 1 < changes_s_.size() ? std::min(until_s, changes_s_[i + 1]) : until_s;
    if (net_w_[i] > 0) {
      const double full = time + (capacity_j_ - level_j) / net_w_[i];
      if (full <= end) return full;
    }
    level_j += net_w_[i] * (end - time);
    time = end;
  }
  return kNever;
}

double Supply::usable_j(double until_s) const {
  if (!has_battery_) return kNever;
  double sum = initial_j_ - reserve_j_;
  for (std::size_t i = 0; i < changes_s_.size() && changes_s_[i] < until_s; ++i) {
    const double end = i + 1 < changes_s_.size() ? std::min(until_s, changes_s_[i + 1]) : until_s;
    if (net_w_[i] > 0) sum += net_w_[i] * (end - changes_s_[i]);
  }
  return sum;
}

}  // namespace ampere

#include "schedule/lane.h"

#include <algorithm>

namespace ampere {
namespace {

constexpr int kBisections = 40;

class Attempt {
 public:
  Attempt(const Supply& supply, const LaneState& state, const Demand& demand)
      : supply_(supply),
        state_(state),
        demand_(demand),
        tolerance_j_(kRounding * (1 + demand.energy_j + supply.initial_j())) {}

  // Starts at this time; says by how much the battery is short, if it is.
  Slot at(double start_s) const {
    Slot slot;
    slot.start_s = start_s;
    const double end = start_s + demand_.slot_s;
    const double run_end = start_s + demand_.run_s;
    const Supply::Level before = supply_.advance(state_.level_j, state_.time_s, start_s, 0);
    const Supply::Level run =
        supply_.advance(before.level_j, start_s, run_end, demand_.energy_j / demand_.run_s);
    const Supply::Level rest = supply_.advance(run.level_j, run_end, end, 0);
    slot.after = {end, rest.level_j};
    slot.lowest_j = std::min({before.lowest_j, run.lowest_j, rest.lowest_j});
    slot.fits = !supply_.has_battery() || slot.lowest_j >= supply_.reserve_j() - tolerance_j_;
    if (!slot.fits) slot.short_j = supply_.reserve_j() - slot.lowest_j;
    return slot;
  }

  // The earliest between both times; else the one that is least short.
  Slot between(double first_s, double last_s) const {
    Slot best = at(first_s);
    if (best.fits || !supply_.fed_after(state_.time_s)) return best;
    double previous = first_s;
    for (double time : turning_points(first_s, last_s)) {
      const Slot slot = at(time);
      if (slot.fits) return earliest(previous, time);
      if (slot.short_j < best.short_j) best = slot;
      previous = time;
    }
    return best;
  }

 private:
  // Between two of them, waiting either helps all the time or never.
  std::vector<double> turning_points(double first_s, double last_s) const {
    std::vector<double> points = {last_s, supply_.full_at(state_.level_j, state_.time_s, last_s)};
    for (double change : supply_.changes_s()) {
      points.push_back(change);
      points.push_back(change - demand_.run_s);
    }
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    std::vector<double> kept;
    std::copy_if(points.begin(), points.end(), std::back_inserter(kept),
                 [&](double t) { return t > first_s && t <= last_s && t < kNever; });
    return kept;
  }

  Slot earliest(double fails_s, double fits_s) const {
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (fails_s + fits_s) / 2;
      (at(middle).fits ? fits_s : fails_s) = middle;
    }
    return at(fits_s);
  }

  const Supply& supply_;
  const LaneState& state_;
  const Demand& demand_;
  double tolerance_j_;
};

}  // namespace

LaneState initial_state(const Supply& supply) { return {0, supply.initial_j()}; }

Slot next_slot(const Supply& supply, const std::vector<TimeWindow>& available, const LaneState& state,
               const Demand& demand, double earliest_s, double latest_s) {
  const Attempt attempt(supply, state, demand);
  Slot least_short, least_late;
  least_late.late_s = kNever;
  bool in_time = false;
  for (const TimeWindow& w : available) {
    const double first = std::max({state.time_s, earliest_s, w.start_s});
    const double end = std::min(w.end_s, latest_s);
    const double late = first + demand.slot_s - end;
    if (late > kRounding * (1 + end)) {
      if (late < least_late.late_s) least_late.late_s = late;
      continue;
    }
    const Slot slot = attempt.between(first, std::max(first, end - demand.slot_s));
    if (slot.fits) return slot;
    if (!in_time || slot.short_j < least_short.short_j) least_short = slot;
    in_time = true;
  }
  return in_time ? least_short : least_late;
}

}  // namespace ampere

#include "schedule/refusal.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ampere {
namespace {

std::string with_unit(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Shortfalls are told exactly enough to act on: never "0.0 Wh".
std::string energy_text(double joules) {
  const double wh = joules / 3600;
  if (wh >= 1000) return with_unit("%.2f kWh", wh / 1000);
  if (wh >= 0.095) return with_unit(wh >= 9.95 ? "%.1f Wh" : "%.2f Wh", wh);
  return joules >= 9.95 ? with_unit("%.0f J", joules) : with_unit("%.2g J", joules);
}

std::string time_text(double seconds) {
  if (seconds >= 36 * 3600) return with_unit("%.1f days", seconds / 86400);
  if (seconds >= 7200) return with_unit("%.1f h", seconds / 3600);
  if (seconds >= 90) return with_unit("%.1f min", seconds / 60);
  return with_unit("%.2g s", seconds);
}

struct Nearest {
  std::size_t device = kNowhere;
  Slot slot;
  // How far off, relative to what it needs: shortfalls of energy and of time in one order.
  double miss = kNever;
};

Nearest nearest(const PlanDraft& plan, std::size_t job, bool empty_devices) {
  const Workshop& w = plan.workshop();
  Nearest best;
  for (std::size_t d = 0; d < w.device_count(); ++d) {
    const Demand& demand = w.demand(job, d);
    if (!demand.possible) continue;
    const Slot slot = plan.nearest_slot(job, d, empty_devices);
    const double miss = slot.fits ? 0
                                  : slot.short_j / std::max(1e-9, demand.energy_j) +
                                        slot.late_s / std::max(1e-9, demand.slot_s);
    if (best.device == kNowhere || miss < best.miss) best = {d, slot, miss};
  }
  return best;
}

std::string among_text(const Workshop& w, std::size_t job) {
  std::size_t possible = 0;
  for (std::size_t d = 0; d < w.device_count(); ++d) possible += w.demand(job, d).possible ? 1 : 0;
  return possible == 1 ? "the only device it can run on"
                       : "the nearest of " + std::to_string(possible) + " devices";
}

// "battery short by 1.20 Wh on phone-1, the nearest of 3 devices: it needs 9.90 Wh there"
std::string shortfall(const Workshop& w, std::size_t job, const Nearest& n) {
  const Demand& demand = w.demand(job, n.device);
  const ScheduleDevice& device = w.problem.devices[n.device];
  const std::string on = " on " + device.name + ", " + among_text(w, job) + ": it needs ";
  if (n.slot.short_j > 0) {
    return "battery short by " + energy_text(n.slot.short_j) + on + energy_text(demand.energy_j) + " there";
  }
  const ScheduleJob& j = w.problem.jobs[job];
  const bool leaves = device.available.back().end_s < j.deadline_s;
  return (leaves ? "device leaves too early by " : "deadline missed by ") + time_text(n.slot.late_s) + on +
         time_text(demand.slot_s) + " there" + (j.depends_on.empty() ? "" : ", behind the jobs it waits for");
}

// "not profiled on a, b; not allowed on c"
std::string nowhere_text(const Workshop& w, std::size_t job) {
  const ScheduleJob& j = w.problem.jobs[job];
  std::vector<std::string> reasons;
  std::string text;
  for (std::size_t d = 0; d < w.device_count(); ++d) {
    const std::string why = d < j.why_not.size() && !j.why_not[d].empty() ? j.why_not[d] : "no cost is known";
    if (std::find(reasons.begin(), reasons.end(), why) != reasons.end()) continue;
    reasons.push_back(why);
    std::string names;
    std::size_t count = 0;
    for (std::size_t e = d; e < w.device_count(); ++e) {
      const std::string other =
          e < j.why_not.size() && !j.why_not[e].empty() ? j.why_not[e] : "no cost is known";
      if (other != why || ++count > 3) continue;
      names += (names.empty() ? "" : ", ") + w.problem.devices[e].name;
    }
    if (count > 3) names += " and " + std::to_string(count - 3) + " more";
    text += (text.empty() ? "" : "; ") + why + " on " + names;
  }
  return text;
}

}  // namespace

Refusal explain_refusal(const PlanDraft& plan, std::size_t job) {
  const Workshop& w = plan.workshop();
  Refusal r;
  r.job = job;
  for (std::size_t needed : w.problem.jobs[job].depends_on) {
    if (plan.holds(needed)) continue;
    r.kind = RefusalKind::kDependency;
    r.text = "it waits for " + w.problem.jobs[needed].name + ", which is refused";
    return r;
  }
  const Nearest alone = nearest(plan, job, true);
  if (alone.device == kNowhere) {
    r.kind = RefusalKind::kNotProfiled;
    r.text = nowhere_text(w, job);
    return r;
  }
  const Nearest beside = alone.slot.fits ? nearest(plan, job, false) : alone;
  r.device = beside.device;
  r.short_j = beside.slot.short_j;
  r.late_s = beside.slot.late_s;
  if (!alone.slot.fits) {
    r.kind = alone.slot.short_j > 0 ? RefusalKind::kBattery : RefusalKind::kDeadline;
    r.text = shortfall(w, job, alone);
    return r;
  }
  r.kind = RefusalKind::kOutbid;
  r.text = beside.slot.fits ? "it fits alone on " + w.problem.devices[alone.device].name +
                                  ", but not together with jobs that are worth more"
                            : "beside jobs that are worth more, " + shortfall(w, job, beside);
  return r;
}

}  // namespace ampere

#include "ampere/schedule.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "schedule/exact.h"
#include "schedule/heuristic.h"
#include "schedule/refusal.h"

namespace ampere {
namespace {

// Up to this size the exact solver is quick.
constexpr std::size_t kAutoExactJobs = 12;
constexpr std::size_t kAutoExactPairs = 48;
constexpr int kMostRepairs = 8;
// Plans are made for a little less than the chosen risk, so that they hold in any simulation of some thousand
// draws and not only in an endless one.
constexpr double kPlannedShare = 0.9;
constexpr double kCheckedShare = 0.95;
constexpr double kSafer = 0.7;  // on the risk that slots are made for, where draws failed too often

bool wants_exact(const Problem& problem, const ScheduleOptions& o) {
  if (o.solver != Solver::kAuto) return o.solver == Solver::kExact;
  return problem.jobs.size() <= kAutoExactJobs &&
         problem.jobs.size() * problem.devices.size() <= kAutoExactPairs;
}

std::vector<PlannedJob> planned_jobs(const PlanDraft& draft) {
  const Workshop& w = draft.workshop();
  std::vector<PlannedJob> jobs;
  for (std::size_t d = 0; d < w.device_count(); ++d) {
    for (const DraftJob& j : draft.lane(d)) {
      jobs.push_back({j.job, d, j.slot.start_s, j.end_s(), w.demand(j.job, d).energy_j, j.slot.lowest_j,
                      j.slot.after.level_j});
    }
  }
  return jobs;
}

struct Solved {
  ExactResult exact;
  PlanDraft draft;
};

// `before`: a plan for other risks, whose lanes are kept as far as they still fit.
Solved solve(const Workshop& workshop, const ScheduleOptions& o, bool exact,
             const std::vector<PlannedJob>& before) {
  Solved s{{}, PlanDraft(workshop)};
  std::vector<PlannedJob> by_start = before;
  std::stable_sort(by_start.begin(), by_start.end(),
                   [](const PlannedJob& a, const PlannedJob& b) { return a.start_s < b.start_s; });
  for (const PlannedJob& p : by_start) {
    if (!s.draft.can_start(p.job)) continue;
    if (auto lane = s.draft.lane_with(p.job, p.device)) s.draft.put(p.device, std::move(*lane));
  }
  plan_by_heuristic(s.draft, {exact ? o.work / 20 : before.empty() ? o.work : o.work / 10, o.seed});
  if (!exact) return s;
  s.exact = plan_exactly(s.draft);
  // What is worth nothing costs nothing either where there is room.
  plan_by_heuristic(s.draft, {0, o.seed});
  return s;
}

// Devices whose jobs or battery failed more often than they may, and those that their jobs wait for.
std::vector<bool> unsafe_devices(const Problem& problem, const std::vector<PlannedJob>& plan,
                                 const Simulation& check, double risk, bool jointly) {
  std::vector<bool> unsafe(problem.devices.size(), false);
  if (jointly) {
    unsafe.assign(problem.devices.size(), check.any_failed > risk);
    return unsafe;
  }
  std::vector<std::size_t> device_of(problem.jobs.size(), kNowhere);
  for (const PlannedJob& p : plan) device_of[p.job] = p.device;
  for (std::size_t d = 0; d < unsafe.size(); ++d) unsafe[d] = check.battery_failed[d] > risk;
  for (const PlannedJob& p : plan) {
    if (!(check.late[p.job] > risk)) continue;
    unsafe[p.device] = true;
    for (std::size_t other : problem.jobs[p.job].depends_on) {
      if (device_of[other] != kNowhere) unsafe[device_of[other]] = true;
    }
  }
  return unsafe;
}

void finish(Plan& plan, const Problem& problem, const Solved& s, bool exact) {
  plan.exact = exact;
  for (const ScheduleJob& j : problem.jobs) plan.value_asked += j.value;
  plan.value = s.draft.value();
  plan.bound = exact ? std::min(plan.value_asked, std::max(plan.value, s.exact.bound)) : plan.value_asked;
  plan.optimal = plan.value >= plan.value_asked || (exact && s.exact.proven);
  if (plan.optimal) plan.bound = plan.value;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    if (!s.draft.holds(j)) plan.refused.push_back(explain_refusal(s.draft, j));
  }
}

}  // namespace

const char* to_word(RefusalKind kind) {
  switch (kind) {
    case RefusalKind::kNotProfiled:
      return "not_profiled";
    case RefusalKind::kDeadline:
      return "deadline";
    case RefusalKind::kBattery:
      return "battery";
    case RefusalKind::kDependency:
      return "dependency";
    default:
      return "outbid";
  }
}

Plan schedule(const Problem& problem, const ScheduleOptions& o) {
  check(problem);
  if (!(o.risk >= 1e-4 && o.risk <= 0.5)) throw bad_input("the risk must lie between 0.01% and 50%");
  const bool exact = wants_exact(problem, o);
  Plan plan;
  const double split = o.jointly ? std::max(1.0, static_cast<double>(problem.devices.size()) / 2) : 1;
  plan.planning_risk.assign(problem.devices.size(), kPlannedShare * o.risk / split);
  for (int repair = 0;; ++repair) {
    const Workshop workshop(problem, plan.planning_risk);
    const Solved solved = solve(workshop, o, exact, plan.jobs);
    plan.jobs = planned_jobs(solved.draft);
    // Another seed than a user's own simulation: a plan is not judged by the draws it was made for.
    plan.check = simulate(problem, plan.jobs, o.check_draws, o.seed ^ 0x9e3779b97f4a7c15u, o.errors);
    const std::vector<bool> unsafe =
        unsafe_devices(problem, plan.jobs, plan.check, kCheckedShare * o.risk, o.jointly);
    if (repair == kMostRepairs || std::find(unsafe.begin(), unsafe.end(), true) == unsafe.end()) {
      finish(plan, problem, solved, exact);
      plan.holds = o.risk >= (o.jointly ? plan.check.any_failed
                                        : std::max(plan.check.worst_battery(), plan.check.worst_late()));
      return plan;
    }
    for (std::size_t d = 0; d < unsafe.size(); ++d) {
      if (unsafe[d]) plan.planning_risk[d] = std::max(1e-6, kSafer * plan.planning_risk[d]);
    }
  }
}

}  // namespace ampere

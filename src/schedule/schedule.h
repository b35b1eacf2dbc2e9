// Which training job runs where and when, so that no battery dies and deadlines hold: what a
// federated-learning server asks before it starts jobs. docs/scheduling.md has the problem, the assumptions
// and an example.
#pragma once

#include <string>
#include <vector>

#include "schedule/problem.h"
#include "schedule/simulate.h"

namespace ampere {

enum class Solver {
  kAuto,       // exact for few jobs and devices, else the heuristic
  kExact,      // proven to be of most value; at most kMostExactJobs jobs
  kHeuristic,  // greedy with local improvement
};

struct ScheduleOptions {
  // Every battery stays above its reserve, and every job ends in time, each with probability 1 - risk.
  double risk = 0.05;
  // All batteries and deadlines hold together with that probability, instead of each.
  bool jointly = false;
  Solver solver = Solver::kAuto;
  ErrorModel errors;
  std::size_t work = 3'000'000;  // of the heuristic (heuristic.h)
  std::uint64_t seed = 1;        // of the heuristic and of the draws that check its plan
  std::size_t check_draws =
      4'000;  // a plan is tried in so many draws, and made safer where they fail too often
};

enum class RefusalKind {
  kNotProfiled,  // no device has a cost for it
  kDeadline,     // it would be late on every device, even on an empty one
  kBattery,      // no battery holds enough, or none does in time
  kOutbid,       // it would fit alone, but not beside jobs that are worth more
  kDependency,   // what it waits for was refused
};
const char* to_word(RefusalKind kind);

struct Refusal {
  std::size_t job = 0;
  RefusalKind kind = RefusalKind::kOutbid;
  std::size_t device = static_cast<std::size_t>(-1);  // where it came nearest; -1: nowhere
  double short_j = 0;                                 // the battery is short by this there
  double late_s = 0;                                  // it would be late by this there
  std::string text;  // one sentence with these figures, without the job's name
};

struct Plan {
  std::vector<PlannedJob> jobs;  // by device, then start
  std::vector<Refusal> refused;  // in the order of the problem
  double value = 0;              // of the jobs planned
  double value_asked = 0;        // of all
  double bound = 0;      // no plan at this risk is worth more; value_asked when nothing better is known
  bool optimal = false;  // proven
  bool exact = false;    // by the exact solver
  std::vector<double> planning_risk;  // by device: what slots were made for, less than the chosen risk
  Simulation check;                   // the draws that the plan was tried in
  bool holds = false;                 // in those, what was asked for held as often as asked for
};

// Throws Error{kBadInput} for a problem that check() refuses and for a risk outside 0.0001 .. 0.5.
Plan schedule(const Problem& problem, const ScheduleOptions& options = {});

}  // namespace ampere

// The plan of most value, proven, for few jobs.
#pragma once

#include "schedule/plan_draft.h"

namespace ampere {

// With more jobs than this, orders are too many to be looked at.
inline constexpr std::size_t kMostExactJobs = 24;

struct ExactResult {
  bool proven = false;
  double bound = 0;  // no plan is worth more
  int rounds = 0;    // assignments that were tried
};

// Takes turns: an integer program gives jobs to devices, then every order of each device's jobs is looked at;
// a set that no order can run is forbidden to the program, until what it gives can be run (logic-based
// Benders decomposition). `draft` may hold a plan to start from; it holds the best one afterwards. Not proven
// when the rounds or a search through orders were too many.
ExactResult plan_exactly(PlanDraft& draft);

}  // namespace ampere

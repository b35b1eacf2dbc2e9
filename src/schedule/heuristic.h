// Many jobs on many devices: a greedy plan, then local improvement. Not exact; docs/scheduling.md says how
// far off it was seen to be.
#pragma once

#include <cstdint>

#include "schedule/plan_draft.h"

namespace ampere {

struct HeuristicOptions {
  std::size_t work = 3'000'000;  // slots looked for, at most; the clock plays no part
  std::uint64_t seed = 1;
};

// Puts jobs by value per share of what they need, each on the device where it takes the smallest share; then
// takes a few out and puts others in, as long as that gives more value, or as much with less of the devices.
// `draft` may hold jobs already.
void plan_by_heuristic(PlanDraft& draft, const HeuristicOptions& options);

}  // namespace ampere

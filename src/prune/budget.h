// How much energy a training may take: "50%", "40J/iter", "2kWh/job".
#pragma once

#include <string>

#include "ampere/prune.h"

namespace ampere {

// "5%" -> 0.05; `what` names it in errors.
double parse_percent(const std::string& text, const std::string& what);

// Joules per iteration. `original_j`: of the network as it is, per iteration; `iterations` of the job, 0
// where none is known. Throws Error{kBadInput} for a job's budget without a job.
double joules_per_iteration(const Budget& budget, double original_j, double iterations);

}  // namespace ampere

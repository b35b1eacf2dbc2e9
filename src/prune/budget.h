// How much energy a training may take: "50%", "40J/iter", "2kWh/job".
#pragma once

#include <string>

namespace ampere {

struct Budget {
  enum class Of {
    kShare,      // of what the network as it is takes
    kIteration,  // joules per iteration
    kJob,        // joules for all iterations of a job
  };
  Of of = Of::kShare;
  double amount = 1;  // a fraction, or joules
};

// Throws Error{kBadInput} that says what is understood.
Budget parse_budget(const std::string& text);
// "5%" -> 0.05; `what` names it in errors.
double parse_percent(const std::string& text, const std::string& what);

// Joules per iteration. `original_j`: of the network as it is, per iteration; `iterations` of the job, 0
// where none is known. Throws Error{kBadInput} for a job's budget without a job.
double joules_per_iteration(const Budget& budget, double original_j, double iterations);

}  // namespace ampere

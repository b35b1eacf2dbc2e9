// The integer program behind exact plans: give jobs to devices for the most value, within linear limits.
// Solved by CBC.
#pragma once

#include <vector>

#include "schedule/sequence.h"

namespace ampere {

// sum of weight over the chosen pairs <= most
struct Limit {
  struct Term {
    Assigned pair;
    double weight = 1;
  };
  std::vector<Term> terms;
  double most = 0;
};

struct Assignment {
  std::vector<Assigned> chosen;
  double value = 0;  // no assignment within the limits is worth more
};

// Each job goes to one device at most, and not without those it depends on. Only to devices where its demand
// is possible. Throws Error{kFailed} when the solver does.
Assignment best_assignment(const Workshop& workshop, const std::vector<Limit>& limits);

}  // namespace ampere

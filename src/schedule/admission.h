// One job and one battery: may it start?
#pragma once

#include "estimate/estimate.h"
#include "schedule/problem.h"

namespace ampere {

// What an estimate says of a job of so many iterations. Its error is one of the estimate, not of iterations:
// it does not average out over them.
JobCost job_cost(const Estimate& estimate, double iterations);
// Iterations of a job: whole batches, the last of an epoch may be smaller.
double iterations_of(std::int64_t samples, std::int64_t batch, std::int64_t epochs);

struct Admission {
  bool fits = false;
  double available_j = 0;
  double needed_j = 0;     // stays under it with probability 1 - risk
  double margin_j = 0;     // available less needed; negative: short by so much
  double probability = 0;  // that the job ends before the battery does
};

// `available_j`: what may be taken from the battery. `risk` between 0 and 1, both excluded.
Admission admit(const LogNormal& energy_j, double available_j, double risk);

}  // namespace ampere

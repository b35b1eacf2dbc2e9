#include "ampere/schedule.h"
#include "base/error.h"

namespace ampere {

JobCost job_cost(const Estimate& e, double iterations) {
  return {LogNormal::from_interval(e.energy_j.value, e.energy_j.high) * iterations,
          LogNormal::from_interval(e.time_s.value, e.time_s.high) * iterations};
}

Admission admit(const LogNormal& energy_j, double available_j, double risk) {
  if (!(risk > 0 && risk < 1)) throw bad_input("the risk must lie between 0 and 1");
  if (!(available_j >= 0)) throw bad_input("a battery cannot hold less than nothing");
  Admission a;
  a.available_j = available_j;
  a.needed_j = energy_j.quantile(1 - risk);
  a.margin_j = available_j - a.needed_j;
  a.fits = a.margin_j >= 0;
  a.probability = energy_j.probability_below(available_j);
  return a;
}

}  // namespace ampere

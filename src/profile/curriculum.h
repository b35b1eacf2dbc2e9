// What to measure of a device so that networks nobody has seen yet become known soonest: an order of works,
// by how much each lowers the variance of what a population of networks costs, for the seconds that it takes.
#pragma once

#include <vector>

#include "gp/sum_process.h"
#include "model/work_model.h"

namespace ampere {

struct MeasurableWork {
  AskedWork work;
  bool known = false;  // it was measured already
};

// A network: candidates, and how often each is in it.
using PopulationSum = std::vector<SumTerm>;

// Numbers of candidates that are not known yet, the best first, at most `most`. It can be stopped after any
// of them. `model`: what is known of the device so far, which may be nothing.
std::vector<int> curriculum(const std::vector<MeasurableWork>& candidates,
                            const std::vector<PopulationSum>& population, const WorkModel& model,
                            std::size_t most);

}  // namespace ampere

// What to measure of a device so that networks nobody has seen yet become known soonest: an order of works,
// by how much each lowers the variance of the sums of a population of networks, for the seconds that it
// takes.
#pragma once

#include <vector>

#include "gp/sum_process.h"
#include "model/roof.h"
#include "work/op_work.h"

namespace ampere {

struct MeasurableWork {
  std::vector<CountedWork> works;
  double seconds = 0.5;  // that measuring it takes
  bool known = false;    // it was measured already
};

// A network: candidates, and how often each is in it.
using PopulationSum = std::vector<SumTerm>;

// Numbers of candidates that are not known yet, the best first, at most `most`. It can be stopped after any
// of them.
std::vector<int> curriculum(const std::vector<MeasurableWork>& candidates,
                            const std::vector<PopulationSum>& population, const Roof& roof, std::size_t most);

}  // namespace ampere

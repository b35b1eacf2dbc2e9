// Pruning with a look at the device: the chosen network is trained for a moment beside the original, and
// where the estimate was off, the search is repeated with what that showed.
#pragma once

#include <functional>

#include "profile/run.h"
#include "prune/prune.h"

namespace ampere {

// Joules of training a network for a while, the same while for all.
using TrainingEnergy = std::function<double(const Network& network)>;

// Of one iteration on random data: what fetching real data takes is not in it.
TrainingEnergy energy_on_random_data(Measure measure, std::int64_t batch, MeasureOptions how);

struct CheckedPruneOptions {
  PruneOptions prune;
  int turns = 4;        // of each network in one check, at least
  int most_turns = 24;  // and at most, where fewer do not tell the share well enough:
  double wanted_error = 0.0075;
  int most_checks = 4;
  // After each check, with the share that was estimated and the one measured.
  std::function<void(int check, double estimated, const MeasuredShare& measured)> progress;
};

MeasuredShare measure_share(const TrainingEnergy& energy, const Network& original, const Network& pruned,
                            const CheckedPruneOptions& options);

struct CheckedPlan {
  PrunePlan plan;
  MeasuredShare measured;
  int checks = 0;
};

// What is measured counts with two standard errors. Throws what prune throws, and Error{kOverBudget} when no
// choice has kept to the budget after the last check.
CheckedPlan prune_checked(const DeviceProfile& profile, const Network& network, std::int64_t batch,
                          const TrainingEnergy& energy, const CheckedPruneOptions& options);

}  // namespace ampere

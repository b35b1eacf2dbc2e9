// Pruning with a look at the device: the chosen network is trained for a moment beside the original, and
// where the estimate was off, the search is repeated with what that showed.
#pragma once

#include <functional>

#include "profile/run.h"
#include "prune/prune.h"

namespace ampere {

// Measured in turns, so that a drift of the machine falls on both alike.
struct MeasuredShare {
  double share = 0;  // of the original's energy
  double error = 0;  // its standard error
};

struct CheckedPruneOptions {
  PruneOptions prune;
  ProfileOptions measuring;  // recipe, meter and length of each measurement
  int turns = 4;             // of each network in one check
  int most_checks = 4;
  // After each check, with the share that was estimated and the one measured.
  std::function<void(int check, double estimated, const MeasuredShare& measured)> progress;
};

MeasuredShare measure_share(const Measure& measure, const Network& original, const Network& pruned,
                            std::int64_t batch, const CheckedPruneOptions& options);

struct CheckedPlan {
  PrunePlan plan;
  MeasuredShare measured;
  int checks = 0;
};

// What is measured counts with two standard errors. Throws what prune throws, and Error{kOverBudget} when no
// choice has kept to the budget after the last check.
CheckedPlan prune_checked(DeviceProfile& profile, const Network& network, std::int64_t batch,
                          const Measure& measure, const CheckedPruneOptions& options);

}  // namespace ampere

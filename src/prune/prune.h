// Pruning a network by a profile: what is behind ampere/prune.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ampere/prune.h"
#include "estimate/estimate.h"
#include "prune/budget.h"
#include "prune/scores.h"
#include "prune/search.h"

namespace ampere {

struct GroupPlan {
  ChannelGroup group;
  std::int64_t channels = 0;       // after pruning
  std::vector<std::int64_t> kept;  // which of them, where scores tell
  std::string untouched;           // why it was not open: fixed, or to be kept; else empty
};

struct PrunePlan {
  Network network;
  std::vector<GroupPlan> groups;
  std::vector<Layer> layers_before, layers_after;
  // Absent for prune_by_flops.
  std::optional<Estimate> before, after;
  Cost cost_before, cost_after;
  double budget = 0;       // joules, or FLOPs, per iteration
  double bound = 0;        // what was held against it: the mean, or the quantile that risk asks for
  bool unchanged = false;  // the network fits as it is
  std::int64_t candidates = 0;
  std::int64_t within = 0;  // of them, kept to the limit
  double seconds = 0;       // of tables and search; fitting the surfaces comes before it
};

// Throws Error{kNotProfiled} that lists missing kinds of layers, Error{kOverBudget} when no candidate keeps
// to the budget, Error{kBadInput} for options that make no sense.
PrunePlan prune(const DeviceProfile& profile, const Network& network, std::int64_t batch,
                const PruneOptions& options);

// The proxy that most people use: the budget is a share of FLOPs. Needs no profile.
PrunePlan prune_by_flops(const Network& network, std::int64_t batch, const PruneOptions& options);

// The value that a positive quantity with this interval exceeds with probability `risk`.
double upper_bound(const Interval& interval, double risk);

}  // namespace ampere

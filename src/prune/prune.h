// Pruning channels until training fits an energy budget: what `ampere prune` does, and what a training
// framework or a federated-learning server would call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/estimate.h"
#include "prune/budget.h"
#include "prune/scores.h"
#include "prune/search.h"

namespace ampere {

// What makes one network within the budget better than another.
enum class Rank { kParameters, kFlops, kScore };

struct PruneOptions {
  Budget budget{Budget::Of::kShare, 0.5};
  double job_iterations = 0;  // for budgets per job
  // The budget holds with probability 1 - risk by the estimate's interval; absent: on average.
  std::optional<double> risk;
  Rank rank = Rank::kParameters;
  ChannelScores scores;           // for Rank::kScore
  std::int64_t multiple_of = 1;   // channels that change become multiples of this
  std::int64_t min_channels = 1;  // of any layer
  double min_share = 0.1;         // of a layer's own channels
  std::vector<std::string> keep;  // nodes whose channels stay as they are
  MeasureMode mode = MeasureMode::kEager;
  double correction = 1;  // on estimates of candidates, where measuring has shown one (checked.h)
  SearchOptions search;
};

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

// Pruning channels until training fits an energy budget: what a training framework or a federated-learning
// server asks for before it sends a network to a device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ampere/estimate.h"

namespace ampere {

// How much a training may take.
struct Budget {
  enum class Of {
    kShare,      // of what the network as it is takes
    kIteration,  // joules per iteration
    kJob,        // joules for all iterations of a job
  };
  Of of = Of::kShare;
  double amount = 1;  // a fraction, or joules
};
// "50%", "40J/iter", "2kWh/job". Throws Error{kBadInput} that says what is understood.
Budget parse_budget(const std::string& text);

// What makes one network within the budget better than another.
enum class Rank { kParameters, kFlops, kScore };

// How much channels matter, by the name of a node: one number for all of its channels together, or one for
// each.
using ChannelScores = std::map<std::string, std::vector<double>>;
// From a file, {"layers": {"conv1": 2.5, "conv2": [0.1, 0.7, ...]}}. Throws Error{kBadInput}.
ChannelScores read_scores(const std::string& path);

enum class SearchKind {
  kRandom,  // plain random channel pruning (Li et al., CVPR 2022)
  kEvolve,  // a population of the best so far, crossed and mutated
};

struct SearchOptions {
  SearchKind kind = SearchKind::kEvolve;
  std::int64_t candidates = 200'000;
  std::uint64_t seed = 1;
  std::size_t finalists = 16;  // how many are estimated in full, best first
};

struct PruneOptions {
  Budget budget{Budget::Of::kShare, 0.5};
  double job_iterations = 0;  // for budgets per job: iterations_of()
  // The budget holds with probability 1 - risk by the estimate's interval; absent: on average.
  std::optional<double> risk = {};
  Rank rank = Rank::kParameters;
  ChannelScores scores = {};           // for Rank::kScore
  std::int64_t multiple_of = 1;        // channels that change become multiples of this
  std::int64_t min_channels = 1;       // of any layer
  double min_share = 0.1;              // of a layer's own channels
  std::vector<std::string> keep = {};  // nodes whose channels stay as they are
  MeasureMode mode = MeasureMode::kEager;
  double correction = 1;  // factor on the estimates of candidates, where measuring has shown one
  SearchOptions search = {};
};

// Energy of the pruned network over that of the original, both trained in turns, so that a drift of the
// machine falls on both alike.
struct MeasuredShare {
  double share = 0;
  double error = 0;  // its standard error
};

// Trains the chosen network for a moment beside the original; where the estimate was off, the search is
// repeated with what that showed.
struct PruneCheckOptions {
  int most_checks = 4;
  std::string data = {};  // folder of IDX files on the worker's machine to train on; empty: random data
  // After each check, with the share that was estimated.
  std::function<void(int check, double estimated, const MeasuredShare& measured)> on_check = {};
};

// Channels that are pruned together, because what is added or multiplied must be equally wide.
struct PrunedGroup {
  std::string name;                // the first node that puts them out
  std::vector<std::string> nodes;  // all whose width they are
  std::int64_t channels_before = 0;
  std::int64_t channels = 0;
  std::vector<std::int64_t> kept;  // which of them, where scores tell
  std::string untouched;           // why it was not open: fixed, or to be kept; else empty
};

struct Pruned {
  Model model;
  std::vector<PrunedGroup> groups = {};
  std::optional<Estimate> before = {}, after = {};  // absent for prune_by_flops()
  double flops_before = 0, flops_after = 0;
  double parameters_before = 0, parameters_after = 0;
  double budget = 0;       // joules per iteration, or FLOPs
  double bound = 0;        // what was held against it: the mean, or the quantile that risk asks for
  bool unchanged = false;  // the network fits as it is
  std::int64_t candidates = 0;
  std::int64_t within = 0;                     // of them, kept to the budget
  std::optional<MeasuredShare> measured = {};  // of the last check
  int checks = 0;
  double seconds = 0;  // of the search
};

// Needs no worker. Throws Error{kNotProfiled} that lists missing kinds of layers, Error{kOverBudget} when no
// candidate keeps to the budget, Error{kBadInput} for options that make no sense.
Pruned prune(Device& device, const Model& model, const TrainingSetup& setup,
             const PruneOptions& options = {});

// The same with checks, on a device that can measure; what is measured counts with two standard errors.
// Throws Error{kOverBudget} also when no choice has kept to the budget after the last check.
Pruned prune(Device& device, const Model& model, const TrainingSetup& setup, const PruneOptions& options,
             const PruneCheckOptions& check);

// The proxy that most people use: the budget is a share of FLOPs. Needs no device.
Pruned prune_by_flops(const Model& model, std::int64_t batch, const PruneOptions& options = {});

}  // namespace ampere

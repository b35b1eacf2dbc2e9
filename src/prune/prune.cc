#include "prune/prune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/error.h"
#include "base/statistics.h"

namespace ampere {
namespace {

// Numbers a group may choose from: enough to use a budget up, few enough to be tabulated in a moment.
constexpr std::size_t kMostNumbers = 64;
// What calls tell takes longer than what surfaces do.
constexpr std::size_t kMostToldNumbers = 32;
constexpr int kMostRounds = 4;

// The z that a standard normal exceeds with this probability.
double normal_above(double probability) {
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double z = (low + high) / 2;
    (std::erfc(z / std::sqrt(2.0)) / 2 > probability ? low : high) = z;
  }
  return low;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// Of ascending multiples of a number the least, the greatest, and multiples of 2, 4, 8, ... times it: what
// divides by more is never the slower for it.
std::vector<std::int64_t> thinned(const std::vector<std::int64_t>& numbers, std::size_t most) {
  std::vector<std::int64_t> out = numbers;
  for (std::int64_t by = 2; out.size() > most + 1; by *= 2) {
    out.clear();
    for (const std::int64_t n : numbers) {
      if (n % by == 0 || n == numbers.front() || n == numbers.back()) out.push_back(n);
    }
  }
  return out;
}

void check(const PruneOptions& o, const PrunableNetwork& network) {
  if (o.risk && !(*o.risk > 0 && *o.risk < 1)) throw bad_input("the risk must be above 0% and below 100%");
  if (o.multiple_of < 1 || o.min_channels < 1 || !(o.min_share >= 0 && o.min_share <= 1))
    throw bad_input("channels can neither be multiples of nor at least less than 1");
  if (!(o.correction > 0)) throw bad_input("a correction of estimates must be above 0");
  if (o.search.candidates < 1) throw bad_input("at least one candidate must be looked at");
  for (const std::string& name : o.keep) {
    if (network.find(name) >= 0) continue;
    std::string known;
    for (const ChannelGroup& g : network.groups()) known += (known.empty() ? "" : ", ") + g.name;
    throw bad_input("no layer with channels of its own is called \"" + name + "\" (known: " + known + ")");
  }
}

class Pruning {
 public:
  Pruning(const DeviceProfile* profile, const Network& network, std::int64_t batch,
          const PruneOptions& options)
      : profile_(profile), network_(network, batch), options_(options) {
    check(options, network_);
    if (profile_) models_.emplace(*profile_, split_plans(network_.layers()));
    open_groups();
    if (options.rank == Rank::kScore) scores_ = score_groups(network_, options.scores);
  }

  PrunePlan run() {
    plan_.layers_before = network_.layers();
    plan_.cost_before = network_cost(network_.network(), network_.batch());
    if (profile_) plan_.before = estimate(network_.network());
    const double whole = profile_ ? plan_.before->energy_j.value : plan_.cost_before.flops();
    plan_.budget = joules_per_iteration(options_.budget, whole, options_.job_iterations);
    plan_.bound = profile_ ? bound_of(*plan_.before) : whole;
    if (plan_.bound / options_.correction <= plan_.budget) {  // the correction is not that of the original
      plan_.unchanged = true;
      finish(network_.original());
      return std::move(plan_);
    }
    refuse_nothing_open();
    const auto start = std::chrono::steady_clock::now();
    CostTables tables(network_, numbers_, models_ ? &*models_ : nullptr, options_.mode);
    search_rounds(tables, plan_.bound / whole);
    plan_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!chosen_) refuse(tables);
    finish(tables.channels(chosen_->choice));
    return std::move(plan_);
  }

 private:
  std::size_t most_numbers() const {
    const std::vector<SurfacePlan> plans = split_plans(network_.layers());
    const bool told = models_ && !std::all_of(plans.begin(), plans.end(), [&](const SurfacePlan& plan) {
                        return models_->has(plan.key);
                      });
    return told ? kMostToldNumbers : kMostNumbers;
  }

  void open_groups() {
    const std::size_t most = most_numbers();
    for (std::size_t g = 0; g < network_.groups().size(); ++g) {
      const ChannelGroup& group = network_.groups()[g];
      GroupPlan plan{group, group.channels, {}, group.fixed};
      const bool kept = std::any_of(options_.keep.begin(), options_.keep.end(), [&](const std::string& name) {
        return network_.find(name) == static_cast<int>(g);
      });
      if (plan.untouched.empty() && kept) plan.untouched = "to be kept";
      std::vector<std::int64_t> numbers;
      if (plan.untouched.empty()) {
        const std::int64_t step = std::lcm(group.unit, options_.multiple_of);
        const auto share = static_cast<std::int64_t>(
            std::ceil(options_.min_share * static_cast<double>(group.channels) - 1e-9));
        const std::int64_t least = std::max({group.least, options_.min_channels, share, step});
        for (std::int64_t n = (least + step - 1) / step * step; n < group.channels; n += step)
          numbers.push_back(n);
        if (numbers.empty()) plan.untouched = "there are too few";
      }
      numbers.push_back(group.channels);
      numbers_.push_back(thinned(numbers, most));
      plan_.groups.push_back(std::move(plan));
    }
  }

  void refuse_nothing_open() const {
    const bool open =
        std::any_of(numbers_.begin(), numbers_.end(), [](const auto& numbers) { return numbers.size() > 1; });
    if (open) return;
    throw Error(ErrorKind::kOverBudget,
                "the network is over budget as it is (" + against_budget(plan_.bound) +
                    "), and none of its channels may change; keep fewer layers, or allow fewer channels "
                    "(--min-channels, --multiple-of)");
  }

  Estimate estimate(const Network& network) const {
    return estimate_network(*profile_, find_method(kSplit), network, network_.batch(), options_.mode);
  }
  // What is held against the budget.
  double bound_of(const Estimate& e) const {
    return options_.correction * (options_.risk ? upper_bound(e.energy_j, *options_.risk) : e.energy_j.value);
  }

  Judge judge(CostTables& tables) const {
    return [this, &tables](const Choice& choice) -> Worth {
      const CandidateCost c = tables.cost(choice);
      const double cost = profile_ ? c.energy_j : c.flops;
      switch (options_.rank) {
        case Rank::kParameters:
          return {cost, c.parameters};
        case Rank::kFlops:
          return {cost, c.flops};
        default: {
          double score = 0;
          for (std::size_t g = 0; g < choice.size(); ++g) score += scores_[g].of(numbers_[g][choice[g]]);
          return {cost, score};
        }
      }
    };
  }

  // Tables tell means. How far the quantile lies above the mean hardly differs between candidates, so the
  // limit on means is found in a few rounds, by the intervals of each round's best.
  void search_rounds(CostTables& tables, double margin) {
    const Judge worth = judge(tables);
    std::vector<std::size_t> sizes;
    for (const auto& numbers : numbers_) sizes.push_back(numbers.size());
    for (int round = 0; round < kMostRounds; ++round) {
      // Means of tables and of estimates may differ in their last digits.
      const double limit = plan_.budget / margin * (1 - 1e-9);
      const SearchResult found = search(sizes, limit, worth, options_.search);
      plan_.candidates += found.evaluated;
      plan_.within += found.within;
      cheapest_ = found.cheapest;
      const double tried = margin;
      take_best(found, tables, margin);
      if (!profile_ || !options_.risk || found.best.empty()) return;
      if (chosen_ && margin >= tried * 0.998) return;
    }
  }

  void take_best(const SearchResult& found, const CostTables& tables, double& margin) {
    if (!profile_ && !found.best.empty()) chosen_ = found.best.front();
    if (!profile_) return;
    double needed = 0;
    for (const Candidate& c : found.best) {
      const Estimate e = estimate(network_.with(tables.channels(c.choice)));
      needed = std::max(needed, bound_of(e) / e.energy_j.value);
      if (bound_of(e) > plan_.budget) continue;
      margin = bound_of(e) / e.energy_j.value;
      if (!chosen_ || c.worth.value > chosen_->worth.value) chosen_ = c;
      return;
    }
    margin = std::max(margin, needed);
  }

  std::string amount_text(double amount) const { return short_number(amount) + (profile_ ? " J" : " FLOPs"); }
  std::string against_budget(double amount) const {
    return amount_text(amount) + " per iteration where the budget is " + amount_text(plan_.budget);
  }

  [[noreturn]] void refuse(const CostTables& tables) const {
    double least = cheapest_.worth.cost;
    if (profile_) least = bound_of(estimate(network_.with(tables.channels(cheapest_.choice))));
    throw Error(ErrorKind::kOverBudget,
                "none of " + std::to_string(plan_.candidates) +
                    " candidates keeps to the budget: the cheapest takes " + against_budget(least) + " (" +
                    short_number(100 * least / plan_.bound) +
                    "% of the network as it is); raise the budget, or allow fewer channels "
                    "(--min-channels, --keep, --multiple-of)");
  }

  void finish(const std::vector<std::int64_t>& channels) {
    plan_.network = network_.with(channels);
    for (std::size_t g = 0; g < channels.size(); ++g) {
      plan_.groups[g].channels = channels[g];
      if (!scores_.empty()) plan_.groups[g].kept = scores_[g].best(channels[g]);
    }
    plan_.layers_after = parse_layers(plan_.network, network_.batch());
    plan_.cost_after = network_cost(plan_.network, network_.batch());
    if (profile_) plan_.after = estimate(plan_.network);
    plan_.bound = profile_ ? bound_of(*plan_.after) : plan_.cost_after.flops();
  }

  const DeviceProfile* profile_;
  PrunableNetwork network_;
  const PruneOptions& options_;
  std::optional<LayerModels> models_;
  std::vector<std::vector<std::int64_t>> numbers_;
  std::vector<GroupScore> scores_;
  std::optional<Candidate> chosen_;
  Candidate cheapest_;
  PrunePlan plan_;
};

}  // namespace

double upper_bound(const Interval& interval, double risk) {
  if (!(interval.value > 0 && interval.high > interval.value)) return interval.high;
  const double deviation = std::log(interval.high / interval.value) / kZ95;
  return interval.value * std::exp(normal_above(risk) * deviation);
}

PrunePlan prune(const DeviceProfile& profile, const Network& network, std::int64_t batch,
                const PruneOptions& options) {
  return Pruning(&profile, network, batch, options).run();
}

PrunePlan prune_by_flops(const Network& network, std::int64_t batch, const PruneOptions& options) {
  if (options.budget.of != Budget::Of::kShare)
    throw bad_input("FLOPs have no joules: by FLOPs, the budget must be a share (50%)");
  if (options.risk) throw bad_input("FLOPs have no interval: a risk goes with energy only");
  return Pruning(nullptr, network, batch, options).run();
}

}  // namespace ampere

#include "prune/checked.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "base/statistics.h"

namespace ampere {
namespace {

// Within this share of the budget nothing is gained by searching again.
constexpr double kUsedUp = 0.96;
constexpr double kErrors = 2;
// A few turns may agree by chance.
constexpr double kLeastError = 0.003;
// Beyond what a check showed: the next choice errs in its own way.
constexpr double kMoreRoom = 1.005;

}  // namespace

TrainingEnergy energy_on_random_data(Measure measure, std::int64_t batch, MeasureOptions how) {
  return [measure = std::move(measure), batch, how = std::move(how)](const Network& network) {
    const MeasureRequest request = request_for({network, true, false}, batch, how);
    return *measure_as_asked(measure, request).energy_j;
  };
}

MeasuredShare measure_share(const TrainingEnergy& energy, const Network& original, const Network& pruned,
                            const CheckedPruneOptions& options) {
  std::vector<double> shares;
  double before = energy(original);
  const auto told = [&] {
    return static_cast<int>(shares.size()) >= options.turns &&
           (static_cast<int>(shares.size()) >= options.most_turns ||
            relative_error_of_median(shares) <= options.wanted_error);
  };
  while (!told()) {
    const double between = energy(pruned);
    const double after = energy(original);
    shares.push_back(2 * between / (before + after));
    before = after;
  }
  const double share = median(shares);
  const double error = shares.size() > 1 ? relative_error_of_median(shares) : 0.02;
  return {share, share * std::max(error, kLeastError)};
}

CheckedPlan prune_checked(const DeviceProfile& profile, const Network& network, std::int64_t batch,
                          const TrainingEnergy& energy, const CheckedPruneOptions& options) {
  PruneOptions prune_options = options.prune;
  std::optional<CheckedPlan> held;
  double last = 0, held_share = 0, budget = 0;
  for (int check = 1; check <= options.most_checks; ++check) {
    CheckedPlan c{prune(profile, network, batch, prune_options), {1, 0}, check};
    if (c.plan.unchanged) return c;
    c.measured = measure_share(energy, network, c.plan.network, options);
    budget = c.plan.budget / c.plan.before->energy_j.value;
    last = c.measured.share + kErrors * c.measured.error;
    const double estimated = c.plan.after->energy_j.value / c.plan.before->energy_j.value;
    if (options.progress) options.progress(check, estimated, c.measured);
    const double shown = last / estimated;
    if (last > budget) {
      prune_options.correction = kMoreRoom * std::max(prune_options.correction, shown);
    } else {  // one check is noisy, so room is given back by half
      prune_options.correction = std::sqrt(prune_options.correction * shown);
    }
    if (last > budget || last <= held_share) continue;
    held = c;
    held_share = last;
    if (last >= kUsedUp * budget) break;
  }
  if (held) return *held;
  char text[160];
  std::snprintf(text, sizeof text,
                "the chosen network still takes up to %.1f%% of the original's energy, where the budget is "
                "%.1f%%, after %d checks",
                100 * last, 100 * budget, options.most_checks);
  throw Error(ErrorKind::kOverBudget, std::string(text) + "; allow more checks, or raise the budget");
}

}  // namespace ampere

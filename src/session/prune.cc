#include "session/prune.h"

#include "base/error.h"
#include "network/network_json.h"
#include "session/access.h"
#include "session/training.h"

namespace ampere {
namespace {

TrainingEnergy checking_energy(const Session& session, const TrainingSetup& setup, MeasureMode mode,
                               const std::string& data) {
  const bool slow_meter = session.profiling_mode() == MeasureMode::kReplay;
  if (!data.empty()) {
    TrainingOptions training;
    training.data = data;
    training.batch = setup.batch;
    training.recipe = setup.recipe;
    training.meter = session.meter;
    return energy_on_data(*session.worker, training, slow_meter ? 2 : 0.5);
  }
  // Longer than profiling would: the share has to be told to a percent.
  ProfilingOptions exact;
  exact.target_error = 0.01;
  exact.budget_s = slow_meter ? 4 : 1;
  return energy_on_random_data(session.measure(), setup.batch, measuring_whole(session, setup, exact, mode));
}

Pruned pruned_from(PrunePlan plan) {
  Pruned p{ModelAccess::make({std::move(plan.network), std::nullopt, {}, {}, 0})};
  for (GroupPlan& g : plan.groups) {
    p.groups.push_back({std::move(g.group.name), std::move(g.group.nodes), g.group.channels, g.channels,
                        std::move(g.kept), std::move(g.untouched)});
  }
  p.before = std::move(plan.before);
  p.after = std::move(plan.after);
  p.flops_before = plan.cost_before.flops();
  p.flops_after = plan.cost_after.flops();
  p.parameters_before = plan.cost_before.parameters;
  p.parameters_after = plan.cost_after.parameters;
  p.budget = plan.budget;
  p.bound = plan.bound;
  p.unchanged = plan.unchanged;
  p.candidates = plan.candidates;
  p.within = plan.within;
  p.seconds = plan.seconds;
  return p;
}

}  // namespace

CheckedPlan prune_with_checks(const Session& session, DeviceProfile& profile, const Network& network,
                              const TrainingSetup& setup, const PruneOptions& options,
                              const PruneCheckOptions& check) {
  if (!check.data.empty() && options.mode == MeasureMode::kReplay)
    throw bad_input("--data goes with --mode eager: training on data is not captured in a graph");
  CheckedPruneOptions c;
  c.prune = options;
  c.most_checks = check.most_checks;
  c.progress = check.on_check;
  return prune_checked(profile, network, setup.batch,
                       checking_energy(session, setup, options.mode, check.data), c);
}

ChannelScores read_scores(const std::string& path) { return scores_from_json(read_json_file(path), path); }

Pruned prune(Device& device, const Model& model, const TrainingSetup& setup, const PruneOptions& options) {
  check(setup);
  return pruned_from(prune(DeviceAccess::profile(device, setup.recipe), ModelAccess::loaded(model).network,
                           setup.batch, options));
}

Pruned prune(Device& device, const Model& model, const TrainingSetup& setup, const PruneOptions& options,
             const PruneCheckOptions& checks) {
  check(setup);
  const Session& session = DeviceAccess::session(device, "checking what was pruned");
  CheckedPlan checked = prune_with_checks(session, DeviceAccess::profile(device, setup.recipe),
                                          ModelAccess::loaded(model).network, setup, options, checks);
  Pruned p = pruned_from(std::move(checked.plan));
  p.checks = checked.checks;
  if (checked.checks > 0) p.measured = checked.measured;
  return p;
}

Pruned prune_by_flops(const Model& model, std::int64_t batch, const PruneOptions& options) {
  check(TrainingSetup{batch, {}});
  return pruned_from(prune_by_flops(ModelAccess::loaded(model).network, batch, options));
}

}  // namespace ampere

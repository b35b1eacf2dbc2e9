#include "session/estimate.h"

#include "base/error.h"
#include "session/access.h"

namespace ampere {

ProbeSummary probe_model(const Session& session, DeviceProfile& profile, const Network& network,
                         const TrainingSetup& setup, const ProfilingOptions& options, bool all,
                         const OnStep& on_step) {
  remember_unit(session);
  measure_idle(session, profile);
  ProbeOptions probe = probing(session, setup, options);
  probe.all = all;
  probe.progress = [&](int done, int of) {
    if (on_step) on_step({"probing", done, of, std::nullopt, "layers at their own channels"});
  };
  return probe_layers(profile, parse_layers(network, setup.batch), session.measure(), probe);
}

void check(const EstimateOptions& options) {
  const Method& method = find_method(options.method);
  if ((options.probe || options.exact) && !method.takes_probes)
    throw bad_input("--probe and --exact go with --method split only");
  require_mode(method, options.mode);
}

Estimate estimate_model(DeviceProfile& profile, const Network& network, const TrainingSetup& setup,
                        const EstimateOptions& options) {
  const Method& method = find_method(options.method);
  Estimate e = estimate_network(profile, method, network, setup.batch, options.mode);
  // A method that knows replayed training only was profiled by replaying.
  if (options.mode == MeasureMode::kReplay && method.tells_eager && e.regime == Regime::kSingle)
    throw bad_input("a CPU has nothing to replay; leave --mode away");
  return e;
}

Estimate estimate(Device& device, const Model& model, const TrainingSetup& setup,
                  const EstimateOptions& options, const OnStep& on_step) {
  check(setup);
  check(options);
  const Network& network = ModelAccess::loaded(model).network;
  parse_layers(network, setup.batch);
  DeviceProfile& profile = DeviceAccess::profile(device, setup.recipe);
  std::optional<ProbeSummary> probed;
  if (options.probe || options.exact) {
    const Session& session = DeviceAccess::session(device, "probing");
    probed = probe_model(session, profile, network, setup, {}, options.exact, on_step);
  }
  Estimate e = estimate_model(profile, network, setup, options);
  e.probed = probed;
  return e;
}

}  // namespace ampere

#include "session/estimate.h"

#include "base/error.h"
#include "session/access.h"
#include "tune/limited.h"

namespace ampere {
namespace {

// Where energy is nearly as cheap as time, probing takes at most this for each layer of the network.
constexpr double kProbingSecondsALayer = 0.15;

}  // namespace

ProbeSummary probe_model(const Session& session, DeviceProfile& profile, const Network& network,
                         const TrainingSetup& setup, const ProfilingOptions& options, bool all,
                         const OnStep& on_step) {
  remember_unit(session);
  measure_idle(session, profile);
  ProbeOptions probe = probing(session, setup, options);
  probe.all = all;
  if (!all && session.keeps_power) probe.seconds_a_layer = kProbingSecondsALayer;
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

std::optional<LeverModel> levers_of(const DeviceProfile& profile) {
  std::string name;
  for (const StoredDevice& device : profile.store().devices()) {
    if (device.id == profile.device()) name = device.fingerprint.value("name", "");
  }
  const std::optional<DataSheet>& sheet = profile.sheet();
  return levers_of(name, sheet && sheet->accelerator ? sheet->limit_w : 0);
}

Estimate estimate_model(DeviceProfile& profile, const Network& network, const TrainingSetup& setup,
                        const EstimateOptions& options) {
  const Method& method = find_method(options.method);
  Estimate e = estimate_network(profile, method, network, setup.batch, options.mode);
  // A method that knows replayed training only was profiled by replaying.
  if (options.mode == MeasureMode::kReplay && method.tells_eager && e.regime == Regime::kSingle)
    throw bad_input("a CPU has nothing to replay; leave --mode away");
  const PowerSetting setting{options.power_limit_w, options.clock_mhz};
  if (setting.as_it_comes()) return e;
  const std::optional<LeverModel> levers = levers_of(profile);
  if (!levers && e.regime != Regime::kSingle)
    throw bad_input(
        "what power limits and clocks do to this device was never measured, nor is its data sheet known");
  return limited(e, levers ? *levers : known_levers(), setting);
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

#include "session/refine.h"

#include "estimate/estimate.h"
#include "profile/probe.h"

namespace ampere {
namespace {

int unless_given(int wanted, int usual) { return wanted > 0 ? wanted : usual; }

}  // namespace

ProfilingOptions sparser(ProfilingOptions o) {
  o.points_1d = unless_given(o.points_1d, 5);
  o.points_2d = unless_given(o.points_2d, 8);
  o.energy_points_1d = unless_given(o.energy_points_1d, 4);
  o.energy_points_2d = unless_given(o.energy_points_2d, 7);
  return o;
}

Refinement refine(const Session& session, DeviceProfile& profile, const LoadedModel& model,
                  const TrainingSetup& setup, const ProfilingOptions& options, double target,
                  const OnStep& on_step) {
  Refinement r;
  const Method& method = find_method(kSplit);
  const auto enough = [&] {
    const Interval e = estimate_network(profile, method, model.network, setup.batch).energy_j;
    r.half_width = e.high / e.value - 1;
    r.reached = r.half_width <= target;
    return r.reached;
  };
  ProbeOptions probe = probing(session, setup, options);
  probe.enough = enough;
  probe.progress = [&](int done, int of) {
    if (on_step) on_step({"refining", done, of, std::nullopt, "layers at their own channels"});
  };
  if (!enough()) {
    const ProbeSummary s =
        probe_layers(profile, parse_layers(model.network, setup.batch), session.measure(), probe);
    r.measured = s.measured;
    r.seconds = s.seconds;
  }
  enough();
  return r;
}

}  // namespace ampere

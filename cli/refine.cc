#include "refine.h"

#include "estimate/probe.h"
#include "progress.h"

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

Refinement refine(const Session& session, DeviceProfile& profile, const Model& model, const ModelOptions& m,
                  const ProfilingOptions& options, double target, bool quiet) {
  Refinement r;
  const Method& method = find_method("split");
  const auto enough = [&] {
    const Interval e = estimate_network(profile, method, model.network, m.batch).energy_j;
    r.half_width = e.high / e.value - 1;
    r.reached = r.half_width <= target;
    return r.reached;
  };
  Progress bar("refining", quiet);
  ProbeOptions probing;
  probing.measuring = measuring(session, m, options);
  probing.energy_matters = probing.matters;  // small ones add up, and the target says when to stop
  probing.enough = enough;
  probing.progress = [&](int done, int of) { bar.show(done, of, "layers at their own channels"); };
  for (const bool energy : {false, true}) {
    if (enough()) break;
    probing.energy = energy;
    const ProbeSummary s =
        probe_layers(profile, parse_layers(model.network, m.batch), session.measure(), probing);
    r.measured += s.measured;
    r.seconds += s.seconds;
  }
  enough();
  return r;
}

}  // namespace ampere

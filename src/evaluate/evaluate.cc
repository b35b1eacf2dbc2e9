#include "evaluate/evaluate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "network/cost.h"
#include "profile/whole_networks.h"

namespace ampere {
namespace {

StoredSurface truth_surface(MeasureMode mode, int pass, const Network& network, std::int64_t batch) {
  return whole_surface(Purpose::kTruth, network, batch, mode, pass + 1);
}

// passes[k][i]: network i in pass k.
using Passes = std::vector<std::vector<Measurement>>;

Passes train_all(DeviceProfile& profile, const std::vector<Network>& networks, std::int64_t batch,
                 const Measure& measure, const EvaluateOptions& options) {
  MeasureOptions training = options.how;
  training.mode = options.mode;
  const auto start = std::chrono::steady_clock::now();
  const auto out_of_time = [&] {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return options.seconds > 0 && taken.count() > options.seconds;
  };
  Passes passes;
  const int of = options.passes * static_cast<int>(networks.size());
  int done = 0;
  for (int pass = 0; pass < options.passes; ++pass) {
    const bool known =
        !networks.empty() &&
        !profile.points(truth_surface(options.mode, pass, networks.back(), batch).name).empty();
    if (pass >= 2 && !known && out_of_time()) break;
    passes.emplace_back();
    for (const Network& network : networks) {
      const StoredSurface truth = truth_surface(options.mode, pass, network, batch);
      if (profile.points(truth.name).empty())
        measure_whole(profile, truth, network, batch, measure, training);
      passes.back().push_back(profile.points(truth.name).back().measurement);
      if (options.progress) options.progress(++done, of);
    }
  }
  return passes;
}

// Means over all passes. How far measuring again would be off is told by the passes of even number against
// those of odd number.
TruthPoint truth_of(const Network& network, std::int64_t batch, const Passes& passes, std::size_t i) {
  TruthPoint t;
  t.network = network.name();
  const Cost cost = network_cost(network, batch);
  t.flops = cost.flops();
  t.bytes = cost.bytes();
  double half[2] = {0, 0};
  int count[2] = {0, 0};
  for (std::size_t k = 0; k < passes.size(); ++k) {
    const Measurement& m = passes[k][i];
    if (!m.energy_j) {
      throw Error(ErrorKind::kNoMeter,
                  "network " + network.name() + " was measured without energy; choose a meter");
    }
    t.energy_j += *m.energy_j / static_cast<double>(passes.size());
    t.time_s += m.time_s / static_cast<double>(passes.size());
    half[k % 2] += *m.energy_j;
    ++count[k % 2];
  }
  t.passes = static_cast<int>(passes.size());
  t.again = std::abs(half[0] / count[0] - half[1] / count[1]) / t.energy_j;
  return t;
}

MethodPoint estimate_one(DeviceProfile& profile, const std::string& name, const Network& network,
                         const TruthPoint& truth, std::int64_t batch, const Measure& measure,
                         const EvaluateOptions& options, double& probe_seconds) {
  const bool probed = name == kSplitProbe || name == kSplitExact;
  const Probes probes = probed ? Probes::kAll : Probes::kNone;
  if (probed) {
    ProbeOptions probing = options.probing;
    probing.all = name == kSplitExact;
    probe_seconds += probe_layers(profile, parse_layers(network, batch), measure, probing).seconds;
  }
  const Estimate e = estimate_network(profile, method_behind(name), network, batch, options.mode, probes);
  MethodPoint point{e.energy_j.value, e.energy_j, e.time_s.value, 0};
  if (e.regime != Regime::kSingle && options.mode == MeasureMode::kEager) {
    point.energy_at_true_time_j =
        e.device_energy_j + e.idle_power_w * std::max(0.0, truth.time_s - e.device_time_s);
  }
  return point;
}

}  // namespace

const Method& method_behind(const std::string& name) {
  if (name == kSplitProbe || name == kSplitExact) return find_method(kSplit);
  try {
    return find_method(name);
  } catch (const Error& e) {
    throw Error(e.kind(),
                std::string(e.what()) + "; an evaluation also knows " + kSplitProbe + " and " + kSplitExact);
  }
}

Evaluation evaluate(DeviceProfile& profile, const std::vector<Network>& networks, std::int64_t batch,
                    const Measure& measure, const EvaluateOptions& options) {
  Evaluation result;
  const Passes passes = train_all(profile, networks, batch, measure, options);
  for (std::size_t i = 0; i < networks.size(); ++i) {
    result.truth.push_back(truth_of(networks[i], batch, passes, i));
    result.noise_floor += result.truth.back().again / static_cast<double>(networks.size());
  }
  for (const std::string& name : options.methods) {
    std::vector<MethodPoint> points;
    double probe_seconds = 0;
    for (std::size_t i = 0; i < networks.size(); ++i) {
      points.push_back(
          estimate_one(profile, name, networks[i], result.truth[i], batch, measure, options, probe_seconds));
    }
    result.methods.push_back(judge(name, std::move(points), result.truth));
    result.methods.back().probe_s = probe_seconds;
  }
  for (MethodResult& m : baselines(result.truth)) result.methods.push_back(std::move(m));
  return result;
}

}  // namespace ampere

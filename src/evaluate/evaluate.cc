#include "evaluate/evaluate.h"

#include <cmath>

#include "base/error.h"
#include "estimate/check.h"
#include "network/cost.h"

namespace ampere {

Evaluation evaluate(DeviceProfile& profile, const std::vector<Network>& networks, std::int64_t batch,
                    const Measure& measure, const EvaluateOptions& options) {
  Evaluation result;
  const int trainings = 2 * static_cast<int>(networks.size());
  std::vector<std::vector<Measurement>> passes(2);
  for (std::size_t pass = 0; pass < 2; ++pass) {
    for (const Network& network : networks) {
      const std::string key = whole_key("truth" + std::to_string(pass + 1), network, batch);
      passes[pass].push_back(whole_measurement(profile, key, network, batch, measure, options.measuring));
      if (options.progress) {
        options.progress(static_cast<int>(passes[0].size() + passes[1].size()), trainings);
      }
    }
  }
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const Measurement& a = passes[0][i];
    const Measurement& b = passes[1][i];
    if (!a.energy_j || !b.energy_j) {
      throw Error(ErrorKind::kNoMeter,
                  "network " + networks[i].name() + " was measured without energy; choose a meter");
    }
    TruthPoint t;
    t.network = networks[i].name();
    const Cost cost = network_cost(networks[i], batch);
    t.flops = cost.flops();
    t.bytes = cost.bytes();
    t.energy_j = (*a.energy_j + *b.energy_j) / 2;
    t.time_s = (a.time_s + b.time_s) / 2;
    t.again = std::abs(*a.energy_j - *b.energy_j) / t.energy_j;
    result.noise_floor += t.again / static_cast<double>(networks.size());
    result.truth.push_back(std::move(t));
  }
  for (const std::string& name : options.methods) {
    const Method& method = find_method(name);
    std::vector<MethodPoint> points;
    for (const Network& network : networks) {
      const Estimate e = estimate_network(profile, method, network, batch);
      points.push_back({e.energy_j.value, e.energy_j, e.time_s.value});
    }
    result.methods.push_back(judge(name, std::move(points), result.truth));
  }
  for (MethodResult& m : baselines(result.truth)) result.methods.push_back(std::move(m));
  return result;
}

}  // namespace ampere

#include "estimate/check.h"

#include "base/error.h"
#include "estimate/composition.h"
#include "network/network_json.h"

namespace ampere {

std::string whole_key(const std::string& prefix, const Network& network, std::int64_t batch) {
  // Zoo names say all; networks from files are told apart by their content.
  const std::string content = hex_digest(network_to_json(network).dump()).substr(0, 8);
  return prefix + "/" + network.name() + "#" + content + "@b" + std::to_string(batch);
}

Measurement whole_measurement(DeviceProfile& profile, const std::string& key, const Network& network,
                              std::int64_t batch, const Measure& measure, const ProfileOptions& options) {
  const auto& known = profile.points(key);
  if (!known.empty()) return known.back().measurement;
  ProfileOptions eager = options;
  eager.mode = MeasureMode::kEager;  // what a user's training does
  const MeasureRequest request = request_for({network, true, false}, batch, eager);
  Measurement m = measure(request);
  profile.add_point({key, {0, 0}, provenance(request), m, ""});
  return m;
}

void check_composition(DeviceProfile& profile, const Method& method, const std::vector<Network>& networks,
                       std::int64_t batch, const Measure& measure, const ProfileOptions& options,
                       const std::function<void(int done)>& done) {
  if (networks.empty()) return;
  std::vector<WholeCheck> energy, time;
  int count = 0;
  for (const Network& network : networks) {
    Measurement m;
    try {
      m = whole_measurement(profile, whole_key("whole", network, batch), network, batch, measure, options);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kOutOfMemory) throw;
      continue;  // layers may fit the device where the whole does not
    }
    const Estimate e = method.estimate(profile, parse_layers(network, batch));
    if (m.energy_j && e.energy_j.value > 0) energy.push_back({*m.energy_j, e.energy_j.value});
    if (e.time_s.value > 0) time.push_back({m.time_s, e.time_s.value});
    if (done) done(++count);
  }
  const std::string family = family_of(networks.front());
  keep_composition(profile, method.name, family, Quantity::kEnergy, learn_composition(energy));
  keep_composition(profile, method.name, family, Quantity::kTime, learn_composition(time));
}

}  // namespace ampere

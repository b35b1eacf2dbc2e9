#include "profile/whole_networks.h"

#include "base/error.h"
#include "model/composition.h"
#include "model/split.h"
#include "network/network_json.h"

namespace ampere {
namespace {

// Where the device takes nearly as long as the iteration, the iteration tells nothing of the host.
constexpr double kHostShows = 1.1;

struct Comparisons {
  std::vector<WholeComparison> device_s, device_j, host_s, energy, time;
};

}  // namespace

Measurement measure_whole(DeviceProfile& profile, const StoredSurface& surface, const Network& network,
                          std::int64_t batch, const Measure& measure, const MeasureOptions& options) {
  const MeasureRequest request = request_for({network, true, false}, batch, options);
  Measurement m = measure_as_asked(measure, request);
  profile.add_point(surface, {0, 0}, provenance(request), m);
  return m;
}

std::optional<WholeCost> whole_cost(const DeviceProfile& profile, const StoredSurface& surface) {
  WholeCost cost{0, 0, 0};
  for (const StoredPoint& p : profile.points(surface.name)) {
    if (!p.measurement.energy_j) continue;
    cost.energy_j += *p.measurement.energy_j;
    cost.time_s += p.measurement.time_s;
    ++cost.times;
  }
  if (cost.times == 0) return std::nullopt;
  cost.energy_j /= cost.times;
  cost.time_s /= cost.times;
  return cost;
}

WholeNetworks::WholeNetworks(DeviceProfile& profile, std::string method, std::vector<Network> networks,
                             std::int64_t batch, const Measure& measure, const WholeNetworkOptions& options)
    : profile_(profile),
      method_(std::move(method)),
      networks_(std::move(networks)),
      batch_(batch),
      measure_(measure),
      options_(options) {
  const bool replays = options_.replay.mode == MeasureMode::kReplay;
  for (int pass = 0; pass < options_.passes; ++pass) {
    for (std::size_t i = 0; i < networks_.size(); ++i) {
      trainings_.push_back({i, false, pass});
      if (replays && pass == 0) trainings_.push_back({i, true, 0});
    }
  }
}

StoredSurface WholeNetworks::surface(const Training& training) const {
  return whole_surface(Purpose::kWhole, networks_[training.network], batch_,
                       training.replay ? MeasureMode::kReplay : MeasureMode::kEager);
}

bool WholeNetworks::measure_next() {
  while (next_ < trainings()) {
    const Training& t = trainings_[static_cast<std::size_t>(next_++)];
    if (too_large_.count({t.network, t.replay}) ||
        static_cast<int>(profile_.points(surface(t).name).size()) > t.pass)
      continue;
    try {
      measure_whole(profile_, surface(t), networks_[t.network], batch_, measure_,
                    t.replay ? options_.replay : options_.eager);
      ++measured_;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kOutOfMemory) throw;
      too_large_.insert({t.network, t.replay});  // layers may fit the device where the whole does not
    }
    return true;
  }
  return false;
}

void WholeNetworks::learn() {
  if (networks_.empty()) return;
  const std::string family = family_of(networks_.front(), batch_);
  const auto keep = [&](Part part, const CompositionError& error) {
    keep_composition(profile_, method_, family, part, error);
  };
  Comparisons compared;
  std::vector<SplitParts> parts;
  std::vector<WholeCost> wholes;
  for (const Network& network : networks_) {
    const auto whole =
        whole_cost(profile_, whole_surface(Purpose::kWhole, network, batch_, MeasureMode::kEager));
    if (!whole) continue;
    const std::vector<Layer> layers = parse_layers(network, batch_);
    // Probes of other networks would let their host times in.
    parts.push_back(split_parts(LayerModels(profile_, split_plans(layers), Probes::kNone), layers));
    wholes.push_back(*whole);
    const SplitParts& sum = parts.back();
    const auto replayed =
        whole_cost(profile_, whole_surface(Purpose::kWhole, network, batch_, MeasureMode::kReplay));
    if (!sum.two_clocks || !replayed) continue;
    compared.device_s.push_back({replayed->time_s, sum.device_s, sum.device_s_variance});
    compared.device_j.push_back({replayed->energy_j, sum.device_j, sum.device_j_variance});
    if (whole->time_s > kHostShows * replayed->time_s && sum.host_s > 0)
      compared.host_s.push_back(
          {host_behind(whole->time_s, replayed->time_s), sum.host_s, sum.host_s_variance});
  }
  const SplitFactors factors{learn_composition(compared.device_s, kOfDevice),
                             learn_composition(compared.device_j, kOfDevice),
                             learn_composition(compared.host_s, kOfHost)};
  const double idle_w = profile_.idle_power_w().value_or(0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    apply(factors, parts[i]);
    const Composed estimate = compose(parts[i], idle_w);
    compared.energy.push_back({wholes[i].energy_j, estimate.energy_j, estimate.energy_j_variance});
    compared.time.push_back({wholes[i].time_s, estimate.time_s, estimate.time_s_variance});
  }
  keep(Part::kDeviceTime, factors.device_s);
  keep(Part::kDeviceEnergy, factors.device_j);
  keep(Part::kHostTime, factors.host_s);
  keep(Part::kEnergy, learn_composition(compared.energy));
  keep(Part::kTime, learn_composition(compared.time));
}

}  // namespace ampere

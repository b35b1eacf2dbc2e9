#include "profile/device_run.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include "base/error.h"
#include "model/measured_works.h"
#include "profile/curriculum.h"
#include "profile/zoo_population.h"
#include "variants/variant.h"

namespace ampere {
namespace {

// Networks of a round, and how many candidates their layers may be: the order of some hundreds is found in a
// second.
constexpr int kNetworksAtOnce = 12;
constexpr std::size_t kMostCandidates = 160;
// Of a round's candidates this share is measured; the rest is told by them.
constexpr double kMeasuredShare = 0.5;
constexpr int kMostRounds = 1000;
// Networks whose iterations are longer than these, at what is believed of such devices, are for others.
constexpr double kMostFlopsOnProcessor = 2e10;
constexpr double kMostFlopsOnAccelerator = 2e13;

struct Candidate {
  SurfacePlan plan;
  Channels channels;
};

bool measured_before(const DeviceProfile& profile, const Candidate& c) {
  for (const std::string& stored :
       {c.plan.key, probe_of(c.plan.surface, Purpose::kTimedProbe).name, probe_of(c.plan.surface).name}) {
    for (const StoredPoint& p : profile.points(stored)) {
      if (p.channels == c.channels && p.measurement.energy_j) return true;
    }
  }
  return false;
}

// The layers of some random networks, each once, and the networks as sums of them.
struct Round {
  std::vector<Candidate> candidates;
  std::vector<MeasurableWork> works;
  std::vector<PopulationSum> networks;
  int known = 0;
};

Round draw_round(const DeviceProfile& profile, std::uint64_t seed) {
  const bool accelerator = profile.call_style().accelerator;
  Round round;
  std::map<std::string, int> places;
  for (const DrawnNetwork& drawn :
       draw_networks(kNetworksAtOnce, seed, accelerator ? kMostFlopsOnAccelerator : kMostFlopsOnProcessor)) {
    if (round.candidates.size() >= kMostCandidates) break;
    const std::vector<Layer> layers = parse_layers(build(drawn.choice), drawn.batch);
    std::map<std::string, SurfacePlan> plans;
    for (SurfacePlan& plan : split_plans(layers)) {
      std::string key = plan.layer_key;
      plans.emplace(std::move(key), std::move(plan));
    }
    PopulationSum sum;
    for (const Layer& layer : layers) {
      Candidate candidate{plans.at(layer.key()), layer.channels};
      auto asked = asked_work(profile, candidate.plan, candidate.channels);
      if (!asked || asked->works.empty()) continue;
      const auto [place, is_new] =
          places.try_emplace(asked->place, static_cast<int>(round.candidates.size()));
      if (is_new) {
        const bool known = measured_before(profile, candidate);
        round.known += known;
        round.works.push_back({std::move(*asked), known});
        round.candidates.push_back(std::move(candidate));
      }
      sum.push_back({place->second, 1});
    }
    if (!sum.empty()) round.networks.push_back(std::move(sum));
  }
  return round;
}

}  // namespace

DeviceSummary measure_device(DeviceProfile& profile, const Measure& measure,
                             const DeviceRunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  DeviceSummary summary;
  if (profile.points(empty_surface().name).empty()) {
    const MeasureRequest request = request_for(empty_iteration(), 1, options.how);
    profile.add_point(empty_surface(), {0, 0}, provenance(request), measure_as_asked(measure, request));
  }
  for (int number = 0; number < kMostRounds && spent() < options.seconds; ++number) {
    const Round round = draw_round(profile, options.seed + static_cast<std::uint64_t>(number));
    summary.candidates += static_cast<int>(round.candidates.size());
    summary.known += round.known;
    const auto wanted = static_cast<int>(kMeasuredShare * static_cast<double>(round.candidates.size()));
    if (wanted <= round.known) continue;  // an earlier run has been here
    const Computes computes = computes_of(round.candidates.front().plan.kind, profile.recipe());
    const auto model = model_of(profile, measured_works(profile, computes));
    for (const int i :
         curriculum(round.works, round.networks, *model, static_cast<std::size_t>(wanted - round.known))) {
      const Candidate& c = round.candidates[static_cast<std::size_t>(i)];
      if (spent() >= options.seconds) break;
      if (options.progress) options.progress(summary, options.seconds - spent(), c.plan.kind.word());
      const MeasureRequest request = request_for(c.plan.variant(c.channels), c.plan.kind.batch, options.how);
      try {
        const Measurement m = measure_as_asked(measure, request);
        profile.add_point(probe_of(c.plan.surface), c.channels, provenance(request), m);
        ++summary.measured;
        summary.modelled = summary.modelled || m.modelled;
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::kOutOfMemory) throw;
        ++summary.refused;
      }
    }
  }
  summary.seconds = spent();
  return summary;
}

}  // namespace ampere

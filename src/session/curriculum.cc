#include "profile/curriculum.h"

#include "ampere/profile.h"
#include "base/error.h"
#include "layers/parse.h"
#include "model/layer_models.h"
#include "model/part_work.h"
#include "session/access.h"

namespace ampere {
namespace {

// Of measuring one part: starting and metering it, and letting it run as often as that takes.
constexpr double kSeconds = 0.45;
constexpr double kRuns = 20;

bool is_accelerator(const Device& device) {
  const Json& fingerprint = DeviceAccess::stored(device).fingerprint;
  return fingerprint.is_object() && fingerprint.value("type", "") == "cuda";
}

}  // namespace

std::vector<int> parts_to_measure(Device& device, const Model& model, const TrainingSetup& setup,
                                  const std::vector<PartCounts>& population, int most) {
  check(setup);
  const DeviceProfile& profile = DeviceAccess::profile(device, setup.recipe);
  const std::vector<Layer> layers = parse_layers(ModelAccess::loaded(model).network, setup.batch);
  const std::vector<SurfacePlan> plans = split_plans(layers);
  const LayerModels models(profile, plans);
  std::map<std::string, std::string> keys;
  for (const SurfacePlan& plan : plans) keys[plan.layer_key] = plan.key;
  const Roof roof = believed_roof(is_accelerator(device));
  std::vector<MeasurableWork> candidates;
  for (const Layer& layer : layers) {
    const auto works = work_of_part(layer.kind, profile.recipe(), is_accelerator(device));
    if (!works) throw bad_input(layer.name + " is no captured part that runs on a device");
    if (works->empty()) {  // there is nothing to know
      candidates.push_back({{{OpWork{}, 1}}, kSeconds, true});
      continue;
    }
    MeasurableWork candidate{*works, kSeconds, models.has(keys.at(layer.key()))};
    for (const CountedWork& w : *works) candidate.seconds += kRuns * w.count * roof.seconds(w.work);
    candidates.push_back(std::move(candidate));
  }
  std::vector<PopulationSum> sums;
  for (const PartCounts& network : population) {
    PopulationSum sum;
    for (const PartCount& p : network) {
      if (p.part < 0 || p.part >= static_cast<int>(candidates.size()) || !(p.count > 0 && p.count < 1e12))
        throw bad_input("a network of the population has a part that is not among the candidates");
      sum.push_back({p.part, p.count});
    }
    if (!sum.empty()) sums.push_back(std::move(sum));
  }
  return curriculum(candidates, sums, roof, static_cast<std::size_t>(std::max(0, most)));
}

}  // namespace ampere

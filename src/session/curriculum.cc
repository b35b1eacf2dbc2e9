#include "profile/curriculum.h"

#include <algorithm>

#include "ampere/profile.h"
#include "base/error.h"
#include "layers/parse.h"
#include "model/layer_models.h"
#include "model/measured_works.h"
#include "model/part_work.h"
#include "session/access.h"

namespace ampere {

std::vector<int> parts_to_measure(Device& device, const Model& model, const TrainingSetup& setup,
                                  const std::vector<PartCounts>& population, int most) {
  check(setup);
  const DeviceProfile& profile = DeviceAccess::profile(device, setup.recipe);
  const Network& network = ModelAccess::loaded(model).network;
  const std::vector<Layer> layers = parse_layers(network, setup.batch);
  const auto inputs = std::count_if(network.nodes().begin(), network.nodes().end(),
                                    [](const Node& n) { return n.op == Op::kInput; });
  if (layers.size() + static_cast<std::size_t>(inputs) != network.nodes().size())
    throw bad_input("each candidate must be a captured part that costs something");
  const std::vector<SurfacePlan> plans = split_plans(layers);
  const LayerModels models(profile, plans);
  std::map<std::string, std::string> keys;
  for (const SurfacePlan& plan : plans) keys[plan.layer_key] = plan.key;
  std::vector<MeasurableWork> candidates;
  Computes computes = Computes::kFloat;
  for (const Layer& layer : layers) {
    auto works = work_of_part(layer.kind, profile.recipe(), profile.call_style().accelerator);
    if (!works) throw bad_input(layer.name + " is no captured part that runs on a device");
    candidates.push_back({{layer.kind.word(), std::move(*works)}, models.has(keys.at(layer.key()))});
    if (computes_of(layer.kind, profile.recipe()) == Computes::kHalf) computes = Computes::kHalf;
  }
  std::vector<PopulationSum> sums;
  for (const PartCounts& counts : population) {
    PopulationSum sum;
    for (const PartCount& p : counts) {
      if (p.part < 0 || p.part >= static_cast<int>(candidates.size()) || !(p.count > 0 && p.count < 1e12))
        throw bad_input("a network of the population has a part that is not among the candidates");
      sum.push_back({p.part, p.count});
    }
    if (!sum.empty()) sums.push_back(std::move(sum));
  }
  return curriculum(candidates, sums, *model_of(profile, measured_works(profile, computes)),
                    static_cast<std::size_t>(std::max(0, most)));
}

}  // namespace ampere

#include "model/surface_plan.h"

#include "network/cost.h"
#include "variants/paper_variants.h"

namespace ampere {

std::vector<SurfacePlan> split_plans(const std::vector<Layer>& layers) {
  std::vector<SurfacePlan> plans;
  for (const LayerGroup& group : group_layers(layers)) {
    SurfacePlan plan;
    plan.layer_key = group.layer.key();
    plan.key = "split/" + plan.layer_key;
    plan.role = group.layer.role;
    plan.kind = group.layer.kind;
    plan.domain = group.domain;
    plan.less_empty = true;
    plan.variant = [kind = plan.kind, role = plan.role](Channels c) { return layer_alone(kind, role, c); };
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::vector<SurfacePlan> neuralpower_plans(const std::vector<Layer>& layers) {
  std::vector<SurfacePlan> plans;
  for (const SurfacePlan& probe : split_plans(layers)) {
    for (Phase phase : kStages) {
      const bool has_weights =
          network_cost(build_layer(probe.kind, {probe.domain.in.max, probe.domain.out.max}), probe.kind.batch)
              .parameters > 0;
      if (phase == Phase::kUpdate && !has_weights) continue;
      SurfacePlan plan = probe;
      plan.phase = phase;
      plan.layer_key = std::string(to_word(phase)) + "/" + probe.layer_key;
      plan.key = "neuralpower/" + plan.layer_key;
      plan.less_empty = false;  // NeuralPower knows nothing of it
      plans.push_back(std::move(plan));
    }
  }
  return plans;
}

std::vector<SurfacePlan> paper_plans(const std::vector<Layer>& layers) {
  std::vector<SurfacePlan> plans;
  for (const PaperSurface& s : paper_surfaces(layers)) {
    SurfacePlan plan;
    plan.key = s.key();
    plan.layer_key = s.layer_key();
    plan.role = s.role;
    plan.kind = s.kind;
    plan.domain = s.domain;
    plan.variant = [s](Channels c) { return paper_variant(s, c); };
    if (!s.input_key.empty()) {
      plan.subtract.push_back({s.input_key, [in = s.input->fixed.in](Channels c) {
                                 return Channels{in, c.in};
                               }});
    }
    if (!s.output_key.empty()) {
      plan.subtract.push_back({s.output_key, [s](Channels c) {
                                 return Channels{channels_read_by_output(s, c), s.output->fixed.out};
                               }});
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::vector<SurfacePlan> paper_replay_plans(const std::vector<Layer>& layers) {
  const auto replayed = [](const std::string& key) { return "paper-replay" + key.substr(key.find('/')); };
  std::vector<SurfacePlan> plans = paper_plans(layers);
  for (SurfacePlan& plan : plans) {
    plan.key = replayed(plan.key);
    for (Neighbour& n : plan.subtract) n.key = replayed(n.key);
  }
  return plans;
}

}  // namespace ampere

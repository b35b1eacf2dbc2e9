#include "model/surface_plan.h"

#include "base/error.h"
#include "network/cost.h"
#include "variants/paper_variants.h"

namespace ampere {
namespace {

// What a plan and its stored surface have in common.
SurfacePlan plan_of(const StoredSurface& surface) {
  if (!surface.kind) throw Error(ErrorKind::kFailed, "nothing tells the kind of surface " + surface.name);
  SurfacePlan plan;
  plan.surface = surface;
  plan.key = surface.name;
  plan.role = surface.role;
  plan.kind = *surface.kind;
  plan.phase = surface.phase;
  plan.layer_key = std::string(to_word(plan.role)) + "/" + plan.kind.word();
  return plan;
}

SurfacePlan alone(const std::string& method, const LayerGroup& group, Phase phase) {
  SurfacePlan plan = plan_of(layer_surface(method, group.layer.role, group.layer.kind, phase));
  plan.domain = group.domain;
  plan.variant = [kind = plan.kind, role = plan.role](Channels c) { return layer_alone(kind, role, c); };
  return plan;
}

bool has_weights(const LayerGroup& group) {
  const Channels widest{group.domain.in.max, group.domain.out.max};
  return network_cost(build_layer(group.layer.kind, widest), group.layer.kind.batch).parameters > 0;
}

std::vector<SurfacePlan> published_plans(const std::string& method, const std::vector<Layer>& layers) {
  std::vector<SurfacePlan> plans;
  for (const PaperSurface& s : paper_surfaces(layers)) {
    Neighbours neighbours{s.input, s.output, {}};
    for (const std::string* key : {&s.input_key, &s.output_key}) {
      if (!key->empty()) neighbours.subtracted.push_back(method + "/" + *key);
    }
    SurfacePlan plan =
        paper_plan_of(layer_surface(method, s.role, s.kind, Phase::kIteration, std::move(neighbours)));
    plan.domain = s.domain;
    plan.variant = [s](Channels c) { return paper_variant(s, c); };
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace

SurfacePlan split_plan_of(const StoredSurface& surface) {
  SurfacePlan plan = plan_of(surface);
  plan.less_empty = true;
  return plan;
}

// NeuralPower knows nothing of an empty iteration.
SurfacePlan neuralpower_plan_of(const StoredSurface& surface) { return plan_of(surface); }

SurfacePlan paper_plan_of(const StoredSurface& surface) {
  SurfacePlan plan = plan_of(surface);
  plan.as_published = true;
  PaperSurface s{surface.role, plan.kind, {}, surface.neighbours.before, surface.neighbours.after, "", ""};
  auto subtracted = surface.neighbours.subtracted.begin();
  const auto next = [&] {
    if (subtracted == surface.neighbours.subtracted.end())
      throw Error(ErrorKind::kFailed, "nothing tells what is subtracted from surface " + surface.name);
    return *subtracted++;
  };
  if (s.input) {
    plan.subtract.push_back({next(), [in = s.input->fixed.in](Channels c) { return Channels{in, c.in}; }});
  }
  if (s.output) {
    plan.subtract.push_back({next(), [s](Channels c) {
                               return Channels{channels_read_by_output(s, c), s.output->fixed.out};
                             }});
  }
  return plan;
}

std::vector<SurfacePlan> split_plans(const std::vector<Layer>& layers) {
  std::vector<SurfacePlan> plans;
  for (const LayerGroup& group : group_layers(layers)) {
    plans.push_back(alone(kSplit, group, Phase::kIteration));
    plans.back().less_empty = true;
  }
  return plans;
}

std::vector<SurfacePlan> neuralpower_plans(const std::vector<Layer>& layers) {
  std::vector<SurfacePlan> plans;
  for (const LayerGroup& group : group_layers(layers)) {
    for (const Phase phase : kStages) {
      if (phase == Phase::kUpdate && !has_weights(group)) continue;
      plans.push_back(alone("neuralpower", group, phase));
    }
  }
  return plans;
}

std::vector<SurfacePlan> paper_plans(const std::vector<Layer>& layers) {
  return published_plans("paper", layers);
}

std::vector<SurfacePlan> paper_replay_plans(const std::vector<Layer>& layers) {
  return published_plans("paper-replay", layers);
}

}  // namespace ampere

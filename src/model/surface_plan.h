// What has to be measured before a network can be estimated: one surface per kind of layer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layers/parse.h"
#include "store/surface.h"
#include "variants/variant.h"

namespace ampere {

// Another surface whose estimate is subtracted from what is measured here (equations 1 and 2).
struct Neighbour {
  std::string key;
  std::function<Channels(Channels)> channels;  // where on the neighbour's surface
};

struct SurfacePlan {
  StoredSurface surface;
  std::string key;  // surface.name
  std::string
      layer_key;  // Layer::key() of the layers it stands for; neighbours made for others have their own
  LayerRole role;
  LayerKind kind;
  Domain domain;
  std::function<Variant(Channels)> variant;
  Phase phase = Phase::kIteration;  // the part of an iteration that is measured
  std::vector<Neighbour> subtract;
  bool less_empty = false;    // what an empty iteration costs is taken off
  bool as_published = false;  // regressed as the paper does: plain values, which may be negative; no probes
};

// The method that is ours and the default; what whole networks teach is kept by its name.
inline constexpr const char* kSplit = "split";

// `split`: every kind alone. The empty iteration is measured besides (empty_surface()).
std::vector<SurfacePlan> split_plans(const std::vector<Layer>& layers);

// `neuralpower`: forward, backward and update of one-layer networks, each repeated by itself. A layer has up
// to three surfaces, one for each phase.
std::vector<SurfacePlan> neuralpower_plans(const std::vector<Layer>& layers);
inline constexpr Phase kStages[] = {Phase::kForward, Phase::kBackward, Phase::kUpdate};

// `paper`: 1-, 2- and 3-layer networks, those that others subtract first.
std::vector<SurfacePlan> paper_plans(const std::vector<Layer>& layers);

// `paper-replay`: the same networks, but captured and replayed, for networks that will be trained so.
std::vector<SurfacePlan> paper_replay_plans(const std::vector<Layer>& layers);

// The plan of a surface that the store holds, for looking at it: without a domain or variants. The surface
// must know its kind.
SurfacePlan split_plan_of(const StoredSurface& surface);
SurfacePlan neuralpower_plan_of(const StoredSurface& surface);
SurfacePlan paper_plan_of(const StoredSurface& surface);

}  // namespace ampere

// Network -> layers (paper, section 3.2): every weight-bearing op with the weightless ops that follow
// it; every join by itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "layers/layer_kind.h"
#include "network/cost.h"
#include "network/network.h"

namespace ampere {

struct Layer {
  std::string name;  // of its first op in the network
  LayerRole role;
  LayerKind kind;
  Channels channels;
  std::int64_t in_unit = 1;  // input channels come in multiples of this (linear after flatten: H x W)
  Cost cost;
  std::vector<int> nodes;  // indices into the network

  // Role and kind: layers with equal keys share a surface.
  std::string key() const { return std::string(to_word(role)) + "/" + kind.word(); }
};

// Throws Error{kBadInput} for networks whose shapes do not fit.
std::vector<Layer> parse_layers(const Network& network, std::int64_t batch);

// Numbers min, min + step, ... up to max.
struct Range {
  std::int64_t min = 1;
  std::int64_t max = 1;
  std::int64_t step = 1;
  bool contains(std::int64_t v) const { return v >= min && v <= max; }
};

// The channels that a kind must be known for.
struct Domain {
  Range in;
  Range out;
};

// From the smallest network of this shape to the given one: 1 (or one group) up to the layer's own.
Domain domain_of(const Layer& layer);
// Covers both.
Domain united(const Domain& a, const Domain& b);

// Layers of one key, in order of first appearance.
struct LayerGroup {
  Layer layer;    // the first of them
  Domain domain;  // united over all
  int count = 0;
  double flops = 0;
};
std::vector<LayerGroup> group_layers(const std::vector<Layer>& layers);

}  // namespace ampere

// The paper's 1-, 2- and 3-layer networks (section 3.2, equations 1 and 2).
//
// A hidden layer at a small resolution needs an input layer that delivers that resolution and an
// output layer that reads what the hidden one puts out. Neither is a layer of the network, so both are
// made here ("adapters") and profiled like any input and output layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/parse.h"
#include "variants/variant.h"

namespace ampere {

// One surface of the paper's method: a kind in its role, with the neighbours that complete it.
struct PaperSurface {
  LayerRole role;
  LayerKind kind;
  Domain domain;
  std::optional<LayerKind> input;   // before a hidden layer; reads the data
  std::optional<LayerKind> output;  // after an input or hidden layer; ends in the loss
  std::string input_key;            // keys of the neighbours' own surfaces, which equations 1 and 2
  std::string output_key;           // subtract; empty where there is none

  // Tells surfaces of this method apart, neighbours included: they are part of what is measured.
  std::string key() const;
  // Role and kind alone: equal to Layer::key() of the layers this surface stands for.
  std::string layer_key() const { return std::string(to_word(role)) + "/" + kind.word(); }
};

// Channels of the output layer behind this layer at `channels`.
std::int64_t channels_read_by_output(const PaperSurface& surface, Channels channels);

// 1 layer for output kinds, 2 for input kinds, 3 for hidden ones.
Variant paper_variant(const PaperSurface& surface, Channels channels);

// All surfaces the network needs, those that others subtract first: outputs, inputs, hidden.
std::vector<PaperSurface> paper_surfaces(const std::vector<Layer>& layers);

}  // namespace ampere

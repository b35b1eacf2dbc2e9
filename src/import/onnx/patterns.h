// Finds ops that were exported as several: GELU as a division, an error function and two products, layer norm
// as means and squares.
#pragma once

#include "import/onnx/onnx_model.h"

namespace ampere::onnx {

// Replaces the last node of each pattern by one node of the op it spells out (Gelu, Silu, HardSwish,
// LayerNormalization without weights), and drops every node that no output depends on.
void merge_patterns(Model& model);

}  // namespace ampere::onnx

// Computing what depends on constants and shapes alone: exporters spell the sizes of a reshape out as dozens
// of ops.
#pragma once

#include <optional>
#include <vector>

#include "import/onnx/onnx_model.h"

namespace ampere::onnx {

// The outputs of a node all of whose inputs are known; null for an input that is left out. Values are
// computed where all are known and few, shapes always. Absent for ops that it cannot compute.
std::optional<std::vector<Constant>> fold(const Node& node, const std::vector<const Constant*>& inputs,
                                          std::int64_t opset);

}  // namespace ampere::onnx

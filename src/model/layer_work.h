// What a layer asks of a device, in the words of captured calls, so that one model tells both
// (docs/one_model.md).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "layers/layer_kind.h"
#include "work/captured_work.h"
#include "work/layer_calls.h"

namespace ampere {

// How the framework of a device makes its calls. `fingerprint`: StoredDevice::fingerprint.
CallStyle call_style_of(const Json& fingerprint);

// Of a recipe's word, "adam-bf16-t4": where float32 is TF32, and all that decides what a call costs, which
// the optimizer does not: its calls are calls like others. "bf16-t4".
TensorFloat tensor_float_of(const std::string& recipe);
std::string without_optimizer(const std::string& recipe);

// One training step of the layer alone, as it is measured: in its role it hands its gradient down or does
// not, and computes the loss or does not. Weights are updated by the recipe's optimizer. Throws
// Error{kBadInput} where the kind does not allow these channels.
std::vector<CountedWork> work_of_layer(const LayerKind& kind, Channels channels, LayerRole role,
                                       const std::string& recipe, const CallStyle& style);

}  // namespace ampere

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

// Of a recipe's word, "adam-bf16-t4": where float32 is TF32.
TensorFloat tensor_float_of(const std::string& recipe);
// Whether what was measured under one recipe tells the cost of the same calls under another. The optimizer
// makes no difference, since its calls are calls like others; precision, threads and the like do. Captured
// calls say themselves where they compute in half precision, so their recipe does not.
bool shares_calls(const std::string& measured, const std::string& asked, bool accelerator);

// One training step of the layer alone, as it is measured: in its role it hands its gradient down or does
// not, and computes the loss or does not. Weights are updated by the recipe's optimizer. Throws
// Error{kBadInput} where the kind does not allow these channels.
std::vector<CountedWork> work_of_layer(const LayerKind& kind, Channels channels, LayerRole role,
                                       const std::string& recipe, const CallStyle& style);

}  // namespace ampere

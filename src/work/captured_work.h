// The calls of a captured part -> what each asks of a device.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "work/op_work.h"

namespace ampere {

// Where float32 is computed as TF32 on devices that can: nowhere, in convolutions as PyTorch comes, or in
// matrix products too.
enum class TensorFloat { kNowhere, kConvolutions, kEverywhere };

// `calls`: the text that a node of captured calls has (docs/capture.md). Views cost nothing and are not among
// the works; calls that nobody has described are OpFamily::kOther. Throws Error{kBadInput} for what is no
// such text. On a processor attention with shared heads is fused in float32, too.
std::vector<CountedWork> work_of_calls(const std::string& calls, TensorFloat tensor_float,
                                       bool accelerator = true);
// The same of the object that such a text holds.
std::vector<CountedWork> work_of_body(Json body, TensorFloat tensor_float, bool accelerator = true);

// Alike works as one, with their counts added up.
std::vector<CountedWork> gathered(std::vector<CountedWork> works);

}  // namespace ampere

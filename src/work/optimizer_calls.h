// The calls by which an optimizer updates weights.
#pragma once

#include <string>

#include "work/call_tape.h"

namespace ampere {

// Of all weights of the tape that have a gradient. `optimizer`: "sgd", "momentum" or "adam"; nothing for
// others. `together`: over lists of all weights, as PyTorch does on accelerators; else one weight after the
// other.
void add_update_calls(CallTape& tape, const std::string& optimizer, bool together);

}  // namespace ampere

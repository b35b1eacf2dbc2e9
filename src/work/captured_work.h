// The calls of a captured part -> what each asks of a device.
#pragma once

#include <string>
#include <vector>

#include "work/op_work.h"

namespace ampere {

// `calls`: the text that a node of captured calls has (docs/capture.md). `strict`: float32 is never computed
// as TF32. Views cost nothing and are not among the works; calls that nobody has described are pointwise ones
// that move their tensors. Throws Error{kBadInput} for what is no such text.
std::vector<CountedWork> work_of_calls(const std::string& calls, bool strict);

// Alike works as one, with their counts added up.
std::vector<CountedWork> gathered(std::vector<CountedWork> works);

}  // namespace ampere

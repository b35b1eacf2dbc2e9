// Telling all that an import cannot express at once.
#pragma once

#include <string>
#include <vector>

#include "import/import.h"

namespace ampere {

// Counts one more place of an op, under the same reason.
void add_unsupported(std::vector<UnsupportedOp>& list, const std::string& op, const std::string& why,
                     const std::string& place);

// Throws Error{kBadInput} that lists them, unless there are none.
void refuse(const std::vector<UnsupportedOp>& list, const std::string& where);

}  // namespace ampere

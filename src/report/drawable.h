// Data of a report as a picture can hold it.
#pragma once

#include "base/json.h"

namespace ampere {

// The same data with U+FFFD in place of every character that XML does not allow, in texts and in keys: one of
// them in a name would make an SVG that no program reads.
Json drawable(const Json& data);

}  // namespace ampere

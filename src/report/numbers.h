// Numbers as reports hold them: five digits, so that files stay small.
#pragma once

#include <vector>

#include "base/json.h"

namespace ampere {

double five_digits(double value);
// null when not finite.
Json short_number(double value);

}  // namespace ampere

// What to say of a device that is nothing but its data sheet.
#pragma once

#include <string>

#include "model/data_sheet.h"

namespace ampere {

// That nothing was measured, whose sheet tells instead, and what that means.
std::string sheet_note(const DataSheet& sheet);

}  // namespace ampere

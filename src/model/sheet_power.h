// What a call draws, before any energy was measured: between idle and the limit, by how busy it keeps the
// device.
#pragma once

#include "model/data_sheet.h"

namespace ampere {

// Logarithm of the watts of a call that takes so long.
double sheet_log_power(const DataSheet& sheet, const OpWork& work, double time_s);

}  // namespace ampere

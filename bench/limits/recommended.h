// The setting that the search of `ampere tune` recommends among those that were measured, and the best of
// them.
#pragma once

#include "measured_rows.h"

namespace ampere::limits {

// What a profile of the device teaches: limits and the clock seen, of all networks, or of all but one, of
// which the usual limit alone is known.
LeverModel taught(const Measured& measured, const std::string& but);

// One table: as estimated, or with up to `most_checks` settings of each network trained for a moment, which
// the recorded rows stand for.
void recommend(const Measured& measured, int most_checks);

}  // namespace ampere::limits

// What was estimated, corrected by training a setting for a moment.
#pragma once

#include "ampere/tune.h"

namespace ampere {

// One setting of a job, of the whole of it, as a moment of training tells.
struct TrainedSetting {
  TrainingSetting setting = {};
  double energy_j = 0, time_s = 0;
  double energy_error = 0, time_error = 0;  // standard errors, as shares
};

// An interval around what was measured with this error, never narrower than a moment can tell of hours.
Interval measured_interval(double value, double relative_error);

// The setting is what was measured from now on. Where this batch and recipe was never trained as the device
// comes, how far off it was is how far off their estimate is: all other power settings move with it. Where it
// was, the estimate's own error is known, and what is left is of this power setting: the others stay as they
// are, since moving them too makes the recommended setting worse (results/h200/limits.md). Throws
// Error{kBadInput} for a setting that is not among the outcomes. choose() is to follow.
void correct(Tuned& tuned, const TrainedSetting& trained);

}  // namespace ampere

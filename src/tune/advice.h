// What else the estimates of a tuned job say: advice, each with the figures that it rests on.
#pragma once

#include <vector>

#include "ampere/tune.h"

namespace ampere {

// About the setting that was chosen. Only what the estimates themselves tell: nothing is advised that no
// figure of theirs supports, and most jobs get none or one.
std::vector<TuneAdvice> advice_of(const Tuned& tuned, const TuneOptions& options);

}  // namespace ampere

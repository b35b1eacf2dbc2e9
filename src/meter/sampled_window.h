// Energy of repeated work from the power that the device keeps of its last seconds (Meter::samples): power
// times the time of an iteration. It needs no ticks of a counter, so a quarter of a second is enough.
#pragma once

#include <optional>

#include "meter/window.h"

namespace ampere {

// Of a quarter of a second, against the counter over seconds (docs/measuring_well.md).
inline constexpr double kSampledError = 0.015;

// How far apart the samples are that the meter keeps; absent where it keeps none, too few, or none as late as
// now.
std::optional<Seconds> sample_spacing(Meter& meter, const Clock& clock = now);

// True when the meter keeps samples, and a window of the ticks that are asked for would be less exact.
bool samples_tell_more(Meter& meter, const WindowOptions& options);

// Warms up until power has ramped, then works in windows until power is steady within one, or the same as in
// the one before: a device that reaches its power limit takes longer to slow down. The last window counts.
// Absent where the samples cannot be used after all, so that the counter has to tell: they stop, hold zero,
// do not reach back over an iteration, or contradict the counter. `options.character` must be that of a
// counter with ticks. Throws Error{kNoMeter} when the counter can no longer be read.
std::optional<WindowSummary> measure_samples(Meter& meter, const Work& work, const WindowOptions& options);

}  // namespace ampere

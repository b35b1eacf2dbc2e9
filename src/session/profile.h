// A whole profiling run as a user asks for it.
#pragma once

#include "session/profiling.h"

namespace ampere {

// Throws Error{kBadInput} for options that make no sense, alone or together.
void check(const ProfilingOptions& options);

// Points on surfaces; with a target, then layers at the network's own channels; with `exact`, those alone.
ProfilingSummary profile_as_asked(const Session& session, DeviceProfile& profile, const LoadedModel& model,
                                  const TrainingSetup& setup, const ProfilingOptions& options,
                                  const OnStep& on_step);

// Layers of random networks for so many minutes (profile_device). Throws Error{kBadInput} for minutes that
// make no sense.
DeviceSummary profile_device(const Session& session, DeviceProfile& profile, double minutes,
                             const Recipe& recipe, const OnStep& on_step);

}  // namespace ampere

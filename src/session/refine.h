// Profiling until one network is known well enough.
#pragma once

#include "session/profiling.h"

namespace ampere {

// Few points to start with: what the network needs beyond them is measured at its own channels.
ProfilingOptions sparser(ProfilingOptions options);

// Measures layers of the network at their own channels, those that matter most first, until its energy is
// known to `target` at 95% or there is nothing left to measure.
Refinement refine(const Session& session, DeviceProfile& profile, const LoadedModel& model,
                  const TrainingSetup& setup, const ProfilingOptions& options, double target,
                  const OnStep& on_step);

}  // namespace ampere

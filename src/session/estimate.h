// Estimates as a user asks for them, with layers measured first if that is wanted.
#pragma once

#include "estimate/estimate.h"
#include "session/profiling.h"
#include "tune/lever_model.h"

namespace ampere {

// Measures layers of the network at its own channels, times alone or energies too, and keeps them.
ProbeSummary probe_model(const Session& session, DeviceProfile& profile, const Network& network,
                         const TrainingSetup& setup, const ProfilingOptions& options, bool energy,
                         const OnStep& on_step);

// Throws Error{kBadInput} where the options do not go together.
void check(const EstimateOptions& options);

// Throws what estimate_network does, and Error{kBadInput} for a mode that the device cannot train in.
Estimate estimate_model(DeviceProfile& profile, const Network& network, const TrainingSetup& setup,
                        const EstimateOptions& options);

// What power limits and clocks do to the profile's device; absent where nothing tells.
std::optional<LeverModel> levers_of(const DeviceProfile& profile);

}  // namespace ampere

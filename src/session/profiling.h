// Profiling as every front end does it: with the defaults that suit the device, and whole networks trained
// beside it.
#pragma once

#include <string>
#include <vector>

#include "ampere/profile.h"
#include "profile/probe.h"
#include "profile/run.h"
#include "session/load_model.h"
#include "session/session.h"

namespace ampere {

// How and where points of this session are measured: by `split`, and by the methods that know one way of
// training only.
ProfileOptions profiling(const Session& session, const TrainingSetup& setup, const ProfilingOptions& options);
ProfileOptions profiling_as_published(const Session& session, const TrainingSetup& setup,
                                      const ProfilingOptions& options, MeasureMode mode);
// How single layers are measured while estimating.
ProbeOptions probing(const Session& session, const TrainingSetup& setup, const ProfilingOptions& options);
// Whole networks: longer where one measurement can settle, and in several passes
// (WholeNetworkOptions, EvaluateOptions) where the host drifts.
MeasureOptions measuring_whole(const Session& session, const TrainingSetup& setup,
                               const ProfilingOptions& options, MeasureMode mode);

// Idle power matters where the device can wait for the host.
void measure_idle(const Session& session, DeviceProfile& profile);

// True when any energy that these methods know of the network comes from a model.
bool is_modelled(const DeviceProfile& profile, const LoadedModel& model, const TrainingSetup& setup,
                 const std::vector<std::string>& methods);

// Profiles what the methods still lack for this network.
std::vector<MethodProfile> profile_model(const Session& session, DeviceProfile& profile,
                                         const LoadedModel& model, const TrainingSetup& setup,
                                         const ProfilingOptions& options,
                                         const std::vector<std::string>& methods, const OnStep& on_step);

}  // namespace ampere

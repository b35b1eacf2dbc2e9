// Profiling as every front end does it: with the defaults that suit the device, and whole networks trained
// beside it.
#pragma once

#include <string>
#include <vector>

#include "profile/probe.h"
#include "profile/run.h"
#include "session/load_model.h"
#include "session/progress.h"
#include "session/session.h"

namespace ampere {

// 0 means: what suits the device. Where a counter ticks ten times a second, times are measured densely and
// energies sparsely; where there is one clock and no tick, every point tells both.
struct ProfilingOptions {
  int points_1d = 0;
  int points_2d = 0;
  int energy_points_1d = 0;  // where they are fewer than points
  int energy_points_2d = 0;
  double target_deviation = 0;
  std::string guide = "time";  // or "energy": whose variance chooses the next point
  int whole_networks = 6;      // trained beside it
  double budget_s = 0.8;       // of training per point
  double target_error = 0;
};

// What is trained: all but the network that decides its cost.
struct TrainingSetup {
  std::int64_t batch = 1;
  Recipe recipe;
};

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

struct MethodProfile {
  std::string method;
  ProfileSummary summary;
  // With earlier runs for the same family and batch, as the store remembers them.
  double all_seconds = 0;
  double all_fitting_seconds = 0;
  int all_points = 0;
};

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

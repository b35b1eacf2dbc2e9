// Profiling as the verbs do it: with a progress bar, and whole networks checked at the end.
#pragma once

#include <string>
#include <vector>

#include "common.h"

namespace ampere {

// 0 means: what suits the device. Where a counter ticks ten times a second, times are measured densely and
// energies sparsely; where there is one clock and no tick, every point tells both.
struct ProfilingOptions {
  int points_1d = 0;
  int points_2d = 0;
  int energy_points_1d = 0;  // where they are fewer than points
  int energy_points_2d = 0;
  double target_deviation = 0;
  std::string guide = "time";
  int checks = 6;         // whole networks trained beside it
  double budget_s = 0.8;  // of training per point
  double target_error = 0;
};
void add_profiling_options(CLI::App& verb, ProfilingOptions& options);

// How points of this session are measured: of `split`, and of the methods that know one way of training only.
ProfileOptions measuring(const Session& session, const ModelOptions& model, const ProfilingOptions& options);
ProfileOptions measuring_as_published(const Session& session, const ModelOptions& model,
                                      const ProfilingOptions& options, MeasureMode mode);
// Whole networks: longer where one measurement can settle, and in several passes
// (CheckOptions, EvaluateOptions) where the host drifts.
ProfileOptions measuring_whole(const Session& session, const ModelOptions& model,
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

// Profiles what the methods still lack for this network.
std::vector<MethodProfile> profile_model(const Session& session, DeviceProfile& profile, const Model& model,
                                         const ModelOptions& m, const ProfilingOptions& options,
                                         const std::vector<std::string>& methods, bool quiet);

}  // namespace ampere

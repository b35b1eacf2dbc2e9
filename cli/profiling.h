// Profiling as the verbs do it: with a progress bar, and whole networks checked at the end.
#pragma once

#include <string>
#include <vector>

#include "common.h"

namespace ampere {

struct ProfilingOptions {
  int points_1d = 8;
  int points_2d = 18;
  double target_deviation = 0.05;
  std::string guide = "time";
  int checks = 6;         // whole networks trained at the end
  double budget_s = 0.8;  // of training per point
  double target_error = 0.01;
};
void add_profiling_options(CLI::App& verb, ProfilingOptions& options);

// How points of this session are measured.
ProfileOptions measuring(const Session& session, const ModelOptions& model, const ProfilingOptions& options);
// Whole networks are measured longer: they are few, and they are the truth.
ProfileOptions measuring_whole(const Session& session, const ModelOptions& model,
                               const ProfilingOptions& options);

struct MethodProfile {
  std::string method;
  ProfileSummary summary;
};

// Profiles what the methods still lack for this network.
std::vector<MethodProfile> profile_model(const Session& session, DeviceProfile& profile, const Model& model,
                                         const ModelOptions& m, const ProfilingOptions& options,
                                         const std::vector<std::string>& methods, bool quiet);

}  // namespace ampere

// The file that says what is to be scheduled (docs/jobs.schema.json, docs/scheduling.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "measure/recipe.h"
#include "schedule/problem.h"

namespace ampere {

// A job whose cost is still to be estimated from profiles.
struct TrainingJob {
  std::string network;  // as it stands in the file: a zoo name or a path
  std::int64_t batch = 1;
  std::int64_t epochs = 1;
  std::int64_t samples = 0;
  std::string method = "split";
  Recipe recipe;
  MeasureMode mode = MeasureMode::kEager;
};

// Where a device's profile is.
struct ProfileSource {
  std::string device;  // id in the store, or how it starts; empty: it has none
  std::string store;   // as it stands in the file; empty: the usual one
};

struct JobsFile {
  Problem problem;                                   // costs that the file gives are in it
  std::vector<std::optional<TrainingJob>> training;  // by job
  std::vector<std::vector<bool>> allowed;            // by job, then device
  std::vector<ProfileSource> profiles;               // by device
};

// Throws Error{kBadInput} that says where in `what` (the file's name) it is wrong.
JobsFile read_jobs(const Json& json, const std::string& what);

}  // namespace ampere

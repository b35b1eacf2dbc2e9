// What `ampere tune` found, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "ampere/tune.h"
#include "base/json.h"
#include "store/store.h"
#include "tune_check.h"

namespace ampere {

struct TunedJob {
  const TuneOptions& options;
  const StoredDevice& device;
  std::string model;
  const Tuned& tuned;
  std::vector<TuneCheckResult> checks;
};

void print_tuned(const TunedJob& job);
Json tuned_json(const TunedJob& job);

}  // namespace ampere

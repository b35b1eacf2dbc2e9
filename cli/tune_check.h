// Training settings for a moment, so that `ampere tune` need not rely on estimates alone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ampere/tune.h"
#include "common.h"

namespace ampere {

// Of the whole job, as a moment of it tells.
struct TuneCheckResult {
  TrainingSetting setting;
  double energy_j = 0, time_s = 0;
  double estimated_energy_j = 0, estimated_time_s = 0;
  std::string note;  // what could not be done as asked
};

class TuneChecker {
 public:
  // Starts the worker. Throws what opening a session throws.
  TuneChecker(const CommonOptions& common, const TuneOptions& options, double seconds, int most_checks);

  // The worker's device, as the store has it, or as the worker tells where nothing was measured yet.
  StoredDevice device(const Store& store) const;

  // An iteration as the device comes, from training alone. Absent: all checks are used up, or it cannot be
  // trained.
  std::optional<Estimate> train(const Network& network, std::int64_t batch, const Recipe& recipe);

  // Trains the present setting and the best one, corrects what that tells of (tune/corrected.h), chooses
  // again, and so on until the best one was trained. What cannot be set (a power limit without permission) is
  // trained as the device comes, and only that part corrected.
  std::vector<TuneCheckResult> check(Tuned& tuned,
                                     const std::function<const Network&(std::int64_t batch)>& network);

 private:
  std::optional<Measurement> measured(const Network& network, const TrainingSetting& setting,
                                      std::string& note, bool& as_asked);

  const CommonOptions& common_;
  const TuneOptions& options_;
  double seconds_;
  int left_;
  Session session_;
};

}  // namespace ampere

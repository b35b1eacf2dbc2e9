// Which settings a job should be trained with: every combination estimated, the front of energy and time, and
// the one that serves best.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ampere/estimate.h"
#include "ampere/tune.h"
#include "tune/lever_model.h"

namespace ampere {

// What an iteration takes as the device comes; absent where nothing tells it, and why goes into `why`.
using EstimateBase =
    std::function<std::optional<Estimate>(std::int64_t batch, const Recipe& recipe, std::string& why)>;

// Every batch and recipe of the options on the device as it comes, the present one first. Throws
// Error{kBadInput} for options that make no sense.
std::vector<TuneCandidate> candidates_of(const TrainingSetup& present, const TuneOptions& options,
                                         const EstimateBase& base);

// `candidates`: the first is the present setting. `levers`: null where no setting of power can be told.
// Throws Error{kBadInput} for options that make no sense, Error{kNotProfiled} where the present setting
// itself cannot be told, Error{kOverBudget} where no setting keeps what was asked for.
Tuned search_settings(std::vector<TuneCandidate> candidates, const TuneOptions& options,
                      const LeverModel* levers);

// Chooses anew, after outcomes were corrected by what was measured.
void choose(Tuned& tuned, const TuneOptions& options);

// Power limits from the least that the device is known for, in steps of 50 W, below the usual one.
std::vector<double> limits_of(const LeverModel& levers);

// The same but for power: both rest on one estimate.
bool same_training(const TrainingSetting& a, const TrainingSetting& b);

// "batch 64, sgd-bf16-t1, channels last"; with power also "300 W" or "as it comes".
std::string training_text(const TrainingSetting& setting);
std::string setting_text(const TrainingSetting& setting);

}  // namespace ampere

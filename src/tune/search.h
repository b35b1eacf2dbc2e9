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

// `levers`: null where no setting of power can be told. Throws Error{kBadInput} for options that make no
// sense and where the present setting itself cannot be told, Error{kOverBudget} where no setting keeps what
// was asked for.
Tuned search_settings(const TrainingSetup& present, const TuneOptions& options, const EstimateBase& base,
                      const LeverModel* levers);

// Chooses anew, after outcomes were corrected by what was measured.
void choose(Tuned& tuned, const TuneOptions& options);

}  // namespace ampere

#include "ampere/tune.h"

#include "base/error.h"
#include "session/access.h"
#include "session/estimate.h"
#include "tune/search.h"

namespace ampere {
namespace {

// They are the card's, whatever is trained on it.
std::optional<LeverModel> levers_on(Device& device) {
  return levers_of(DeviceAccess::profile(device, Recipe{}));
}

}  // namespace

Tuned tune(Device& device, const Model& model, const TrainingSetup& present, const TuneOptions& options) {
  check(present);
  const Network& network = ModelAccess::loaded(model).network;
  const EstimateBase base = [&](std::int64_t batch, const Recipe& recipe,
                                std::string& why) -> std::optional<Estimate> {
    try {
      return estimate_model(DeviceAccess::profile(device, recipe), network, {batch, recipe},
                            {"split", options.mode, false, false, 0, 0});
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kNotProfiled) throw;
      why = e.what();
      return std::nullopt;
    }
  };
  return tune(device, candidates_of(present, options, base), options);
}

Tuned tune(Device& device, const std::vector<TuneCandidate>& candidates, const TuneOptions& options) {
  const std::optional<LeverModel> levers = levers_on(device);
  return search_settings(candidates, options, levers ? &*levers : nullptr);
}

std::vector<double> usual_limits(Device& device) {
  const std::optional<LeverModel> levers = levers_on(device);
  return levers ? limits_of(*levers) : std::vector<double>{};
}

}  // namespace ampere

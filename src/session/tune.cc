#include "ampere/tune.h"

#include "base/error.h"
#include "session/access.h"
#include "session/estimate.h"
#include "tune/search.h"

namespace ampere {

Tuned tune(Device& device, const Model& model, const TrainingSetup& present, const TuneOptions& options) {
  check(present);
  const Network& network = ModelAccess::loaded(model).network;
  const std::optional<LeverModel> levers = levers_of(DeviceAccess::profile(device, present.recipe));
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
  return search_settings(present, options, base, levers ? &*levers : nullptr);
}

}  // namespace ampere

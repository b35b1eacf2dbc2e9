// Training random networks for real and comparing every method with what was measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evaluate/evaluation.h"
#include "profile/run.h"

namespace ampere {

struct EvaluateOptions {
  ProfileOptions measuring;  // of the whole networks; guided options are not used
  std::vector<std::string> methods = {"split", "paper"};
  std::function<void(int done, int of)> progress;  // trainings done
};

// Every network is measured in two passes, so that the noise floor covers slow drifts too. Measured
// networks are kept in the store, so an interrupted evaluation goes on where it was. All surfaces of the
// methods must have been profiled.
Evaluation evaluate(DeviceProfile& profile, const std::vector<Network>& networks, std::int64_t batch,
                    const Measure& measure, const EvaluateOptions& options);

}  // namespace ampere

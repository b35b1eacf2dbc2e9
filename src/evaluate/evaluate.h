// Training random networks for real and comparing every method with what was measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evaluate/evaluation.h"
#include "profile/probe.h"
#include "profile/run.h"

namespace ampere {

struct EvaluateOptions {
  MeasureOptions how;    // of the whole networks
  ProbeOptions probing;  // of layers, for the methods that probe
  // Names of methods(), and two ways of `split` that measure layers of each network while estimating it:
  // "split-probe" (those that matter) and "split-exact" (all; asked for last, since what is measured counts).
  std::vector<std::string> methods = {"split", "paper"};
  MeasureMode mode = MeasureMode::kEager;          // how networks are trained
  int passes = 2;                                  // trainings of each network, at least 2
  double seconds = 0;                              // after which no further pass is begun; 0: all are made
  std::function<void(int done, int of)> progress;  // trainings done
};

inline constexpr const char* kSplitProbe = "split-probe";
inline constexpr const char* kSplitExact = "split-exact";
// The method behind a name of EvaluateOptions::methods. Throws Error{kBadInput} that lists what is known.
const Method& method_behind(const std::string& name);

// Every network is measured in passes over all of them, so that slow drifts of the machine fall on all alike
// and show in the noise floor. What was measured is kept in the store, so an interrupted evaluation goes on
// where it was. All surfaces of the methods must have been profiled.
Evaluation evaluate(DeviceProfile& profile, const std::vector<Network>& networks, std::int64_t batch,
                    const Measure& measure, const EvaluateOptions& options);

}  // namespace ampere

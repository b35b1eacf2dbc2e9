// What a worker is asked to measure.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "measure/recipe.h"
#include "meter/window.h"
#include "network/network.h"

namespace ampere {

// Which part of an iteration is repeated. Training needs all of it; NeuralPower's way of estimating adds up
// its three stages, each repeated by itself.
enum class Phase { kIteration, kForward, kBackward, kUpdate };
// "iteration", "forward", "backward", "update"
const char* to_word(Phase phase);
// Throws Error{kBadInput} for other words.
Phase phase_from_word(const std::string& word);

// "Train this network and tell what one iteration costs."
struct MeasureRequest {
  Network network;
  std::int64_t batch = 1;
  MeasureMode mode = MeasureMode::kEager;
  Phase phase = Phase::kIteration;
  // False: only time is wanted, which takes a twentieth of the time that a counter of energy needs.
  bool energy = true;
  // True: the backward pass starts from a loss against random targets. False: from a given gradient
  // of the output, so that a layer is measured without one.
  bool loss = true;
  // True: the input is a leaf that wants its gradient, as the input of a hidden layer does.
  bool input_grad = false;
  Recipe recipe;
  std::string meter;           // empty: the worker's default
  double target_error = 0.01;  // relative standard error to reach
  double window_s = 0.1;
  double warm_up_s = 0.1;
  double budget_s = 3.0;  // seconds of training this point may take
  int min_windows = 3;
  int min_ticks = kTicksPerWindow;  // of the counter that a window spans at least; fewer: a quick look
  // The window right after warm-up reads low, for power ramps; a long warm-up makes throwing it away
  // needless.
  bool discard_first = true;
};

Json to_json(const MeasureRequest& request);
MeasureRequest measure_request_from_json(const Json& json);

}  // namespace ampere

// How a network is trained: what changes the cost of the same layer.
#pragma once

#include <string>
#include <vector>

#include "ampere/recipe.h"
#include "base/json.h"

namespace ampere {

// What a recipe may say. "captured": the optimizer's calls are part of the network.
inline const std::vector<std::string> kOptimizers = {"sgd", "momentum", "adam", "captured"};
// "default" is what the framework does when nothing is said: TF32 in convolutions, not in matrix products.
inline const std::vector<std::string> kPrecisions = {"default", "fp32", "tf32", "bf16"};

// The word under which a device's measurements are kept. A CPU computes nothing in TF32: what the framework
// does by default is float32 throughout there, and kept as such.
std::string stored_word(const Recipe& recipe, const Json& fingerprint);

Json to_json(const Recipe& recipe);
Recipe recipe_from_json(const Json& json);

}  // namespace ampere

// How a network is trained: what changes the cost of the same layer.
#pragma once

#include "ampere/recipe.h"
#include "base/json.h"

namespace ampere {

Json to_json(const Recipe& recipe);
Recipe recipe_from_json(const Json& json);

}  // namespace ampere

// Kinds of layers as JSON, so that a store knows what its surfaces are of.
#pragma once

#include <string>

#include "base/json.h"
#include "layers/layer_kind.h"

namespace ampere {

// {"ops": [{"op", attributes...}], "head", "inputs", "batch", "surface", "fixed", "feedforward_ratio"}.
// Attributes are written out, defaults too: a kind stays what it was when a default changes.
Json kind_to_json(const LayerKind& kind);
// `where` names the source in errors. Throws Error{kBadInput}.
LayerKind kind_from_json(const Json& json, const std::string& where);

// "out", "in", "in-out", "tied", "point"
const char* to_word(Surface surface);

// "input", "hidden", "output", "only". Throws Error{kBadInput} for other words.
LayerRole role_from_word(const std::string& word);

}  // namespace ampere

// What `ampere layers --json` and the server's /layers say.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "session/load_model.h"

namespace ampere {

// How the network falls into layers, and the graph of its ops with the layer that each belongs to. Throws
// Error{kBadInput} for networks whose shapes do not fit.
Json layers_json(const LoadedModel& model, std::int64_t batch);

}  // namespace ampere

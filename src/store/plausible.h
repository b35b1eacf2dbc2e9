// What may stand in a store: checked when it arrives from a worker, and again when it is read.
#pragma once

#include <string>

#include "base/json.h"
#include "layers/layer_kind.h"

namespace ampere {

// A fingerprint has texts under "name" and "type" (at most 200 characters), "driver", "framework", "blas",
// "allocator" and "meter" (at most 4096) and a whole number under "cores"; each may be missing. Throws
// Error{kBadInput} that begins with `where`.
void require_fingerprint(const Json& fingerprint, const std::string& where);

// Idle power, what was learned from whole networks ("composition/..."), and what profiling took
// ("profiling/..."): fields of the right type and figures that are possible. Other facts may be anything.
// Throws Error{kBadInput} that begins with `where`.
void require_plausible_fact(const std::string& name, const Json& value, const std::string& where);

// Channels that no layer has. Throws Error{kBadInput}.
void require_channels(Channels channels);

// Most watts that anything idles at.
inline constexpr double kMostIdleWatts = 1e8;

}  // namespace ampere

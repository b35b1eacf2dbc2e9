// Profiles on their way between people and machines: out of a store as JSON, and into another with a note of
// where they came from (docs/store.md).
#pragma once

#include <string>

#include "base/json.h"
#include "store/store.h"

namespace ampere {

inline constexpr int kExchangeVersion = 1;

// Everything of one device, or of all of them where `device` is empty.
Json export_store(const Store& store, const std::string& device, const std::string& program);

struct ImportSummary {
  int devices = 0;       // that the store did not know
  int points = 0;        // added
  int points_known = 0;  // left away, since the store has the very same
  int facts = 0;         // added; those that the store has stay as they are
};

// Adds what export_store() wrote. All of it is kept, or nothing. `origin` is noted beside every point
// ("friend.json, exported 2026-11-16T10:00:00Z by ampere 0.2.0"); a point that has one already keeps it in
// front. Throws Error{kBadInput} that says where the file is wrong.
ImportSummary import_store(Store& store, const Json& exported, const std::string& origin);

// Adds what another store has.
ImportSummary merge_store(Store& store, const Store& other);

}  // namespace ampere

// The tables of a store, and how older ones become these (docs/store.md).
#pragma once

#include <string>

#include "store/database.h"
#include "store/surface.h"

namespace ampere {

// 1: surfaces by their names alone. 2: surfaces typed, points with their origin. 3: points have an identity.
inline constexpr int kStoreVersion = 3;

// Makes the tables, or migrates those of an older version, in one transaction. Several programs may do so at
// once. Throws Error{kBadInput} for versions that are newer or damaged; `path` is what messages call it.
void make_tables(Database& db, const std::string& path);

// The same, but of an older or empty store says false instead of changing it.
bool tables_are_current(Database& db, const std::string& path);

// Adds the surface, or what an older version could not tell of it.
void add_surface(Database& db, const StoredSurface& surface);

// 32 hex digits that no other measurement has.
std::string new_identity();

}  // namespace ampere

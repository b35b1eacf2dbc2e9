// SQLite as the store uses it. For src/store alone: sqlite3.h stays out of other headers.
#pragma once

#include <sqlite3.h>

#include <string>

namespace ampere {

// Throws what went wrong and what to do about it.
[[noreturn]] void store_failed(sqlite3* db, int code, const std::string& path);

}  // namespace ampere

// SQLite as the store uses it. For src/store alone: sqlite3.h stays out of other headers.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

#include "store/store.h"

namespace ampere {

// Throws what went wrong and what to do about it.
[[noreturn]] void store_failed(sqlite3* db, int code, const std::string& path);

struct Store::Impl {
  std::string path;
  sqlite3* db = nullptr;

  ~Impl() { sqlite3_close(db); }

  void execute(const char* sql) const {
    const int code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) store_failed(db, code, path);
  }
};

// One prepared statement; values are bound in order.
class Statement {
 public:
  Statement(sqlite3* db, std::string path, const char* sql) : db_(db), path_(std::move(path)) {
    check(sqlite3_prepare_v2(db_, sql, -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& value) {
    check(sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()),
                            SQLITE_TRANSIENT));
    return *this;
  }
  Statement& bind(std::int64_t value) {
    check(sqlite3_bind_int64(statement_, ++bound_, value));
    return *this;
  }
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) check(code);
    return code == SQLITE_ROW;
  }
  std::string text(int column) const {
    const auto* data = sqlite3_column_text(statement_, column);
    // A name may hold a zero byte: it must be read as long as it was written.
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return data ? std::string(reinterpret_cast<const char*>(data), size) : "";
  }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  void check(int code) const {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    store_failed(db_, code, path_);
  }

  sqlite3* db_;
  std::string path_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

}  // namespace ampere

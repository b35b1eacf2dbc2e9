// What the store asks of a database: SQLite in a file, or a PostgreSQL server. For src/store alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace ampere {

// The server cannot be reached, or went away. What was asked for may or may not have happened.
class ServerAway : public Error {
 public:
  explicit ServerAway(const std::string& message) : Error(ErrorKind::kFailed, message) {}
};

// Two writers stood in each other's way and this one had to give in: nothing happened, and it may be tried
// again.
class WritersMet : public Error {
 public:
  explicit WritersMet(const std::string& message) : Error(ErrorKind::kFailed, message) {}
};

using SqlValue = std::variant<std::int64_t, std::string>;

class SqlRow {
 public:
  explicit SqlRow(std::vector<std::string> cells) : cells_(std::move(cells)) {}
  const std::string& text(std::size_t column) const { return cells_.at(column); }
  // 0 for what is no number.
  std::int64_t integer(std::size_t column) const {
    return std::strtoll(cells_.at(column).c_str(), nullptr, 10);
  }

 private:
  std::vector<std::string> cells_;
};

// One connection. Statements are in the SQL that both understand, with values as $1, $2, ... Not thread-safe.
class Database {
 public:
  virtual ~Database() = default;

  // One statement. Where a server went away, it is waited for and asked again, except within a transaction:
  // that throws ServerAway at once.
  virtual std::vector<SqlRow> query(const std::string& sql, const std::vector<SqlValue>& values = {}) = 0;
  // Several statements without values.
  virtual void execute(const std::string& sql) = 0;

  // `patient`: a server that is away is waited for.
  virtual void begin(bool patient) = 0;
  virtual void commit() = 0;
  // Never throws; does nothing where no transaction is open.
  virtual void rollback() noexcept = 0;
  virtual bool in_transaction() const = 0;

  // 0: an empty database. Throws Error{kBadInput} where it is of another program.
  virtual int schema_version() = 0;
  virtual void set_schema_version(int version) = 0;
  // Called first in the transaction that makes the tables: only one program at a time gets past it.
  virtual void lock_schema() = 0;
  // Called once the tables are as they should be.
  virtual void ready() = 0;
  // How it writes the type of a point's id, and text that is ordered by its bytes.
  virtual std::string id_type() const = 0;
  virtual std::string text_type() const = 0;

  // Throws Error{kBadInput} where whoever is connected may not write.
  virtual void require_writer() = 0;
  // Lets a role of the server read, or read and write. Throws Error{kBadInput} where there are no roles.
  virtual void grant(const std::string& role, bool write) = 0;

  // What points for this database are kept by while it is away; empty where it never is.
  virtual std::string place() const = 0;
};

// Throws what Store's constructor does.
std::unique_ptr<Database> open_sqlite(const std::string& path);
// A copy of the file in memory, for files that only may be read.
std::unique_ptr<Database> open_sqlite_copy(const std::string& path);
std::unique_ptr<Database> open_postgres(const std::string& address);

}  // namespace ampere

#include "store/sqlite.h"

#include <filesystem>

#include "store/database.h"

namespace ampere {

void store_failed(sqlite3* db, int code, const std::string& path) {
  const std::string why = path + ": " + sqlite3_errmsg(db);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw bad_input(why + "; not an ampere store, or damaged: move it away or name another with --store");
    case SQLITE_IOERR:
      throw Error(ErrorKind::kFailed,
                  why + "; the disk may be full or failing, what was measured so far is kept");
    case SQLITE_FULL:
      throw Error(ErrorKind::kFailed, why + "; free some disk space, what was measured so far is kept");
    case SQLITE_BUSY:
      throw Error(ErrorKind::kFailed,
                  why + "; another ampere is writing to it, try again when it has finished");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      throw Error(ErrorKind::kFailed, why + "; check its permissions or name another with --store");
    default:
      throw Error(ErrorKind::kFailed, why);
  }
}

namespace {

constexpr int kApplicationId = 0x414d5052;  // "AMPR"

// One prepared statement.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& path, const std::string& sql) : db_(db), path_(path) {
    check(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(std::size_t number, const SqlValue& value) {
    const int at = index_of(number);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      check(sqlite3_bind_int64(statement_, at, *integer));
    } else {
      const auto& text = std::get<std::string>(value);
      check(sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
    }
  }
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) check(code);
    return code == SQLITE_ROW;
  }
  SqlRow row() const {
    std::vector<std::string> cells;
    cells.reserve(static_cast<std::size_t>(sqlite3_column_count(statement_)));
    for (int column = 0; column < sqlite3_column_count(statement_); ++column) {
      const auto* data = sqlite3_column_text(statement_, column);
      // A name may hold a zero byte: it must be read as long as it was written.
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
      cells.push_back(data ? std::string(reinterpret_cast<const char*>(data), size) : "");
    }
    return SqlRow(std::move(cells));
  }

 private:
  void check(int code) const {
    if (code != SQLITE_OK) store_failed(db_, code, path_);
  }
  // SQLite numbers parameters in the order in which they occur, which mostly is that of their names; to look
  // for a name takes long where there are a thousand.
  int index_of(std::size_t number) const {
    const std::string name = "$" + std::to_string(number);
    const char* there = sqlite3_bind_parameter_name(statement_, static_cast<int>(number));
    return there != nullptr && there == name ? static_cast<int>(number)
                                             : sqlite3_bind_parameter_index(statement_, name.c_str());
  }

  sqlite3* db_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteDatabase final : public Database {
 public:
  explicit SqliteDatabase(std::string path) : path_(std::move(path)) {}
  ~SqliteDatabase() override { sqlite3_close(db_); }
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  void open() {
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    if (error)
      throw Error(ErrorKind::kFailed, folder.string() + ": cannot be created: " + error.message() +
                                          "; check its permissions or name another with --store");
    if (const int code = sqlite3_open(path_.c_str(), &db_); code != SQLITE_OK) store_failed(db_, code, path_);
    sqlite3_busy_timeout(db_, 10000);
  }

  void open_copy() {
    sqlite3* file = nullptr;
    int code = sqlite3_open_v2(path_.c_str(), &file, SQLITE_OPEN_READONLY, nullptr);
    if (code == SQLITE_OK) code = sqlite3_open(":memory:", &db_);
    if (code == SQLITE_OK) {
      sqlite3_backup* backup = sqlite3_backup_init(db_, "main", file, "main");
      if (backup != nullptr) sqlite3_backup_step(backup, -1);
      code = backup != nullptr ? sqlite3_backup_finish(backup) : SQLITE_CANTOPEN;
    }
    sqlite3_close(file);
    if (code != SQLITE_OK) store_failed(db_, code, path_);
  }

  std::vector<SqlRow> query(const std::string& sql, const std::vector<SqlValue>& values) override {
    Statement s(db_, path_, sql);
    for (std::size_t i = 0; i < values.size(); ++i) s.bind(i + 1, values[i]);
    std::vector<SqlRow> rows;
    while (s.step()) rows.push_back(s.row());
    return rows;
  }

  void execute(const std::string& sql) override {
    const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) store_failed(db_, code, path_);
  }

  void begin(bool /*patient*/) override { execute("BEGIN IMMEDIATE"); }
  void commit() override { execute("COMMIT"); }
  void rollback() noexcept override {
    if (in_transaction()) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  bool in_transaction() const override { return sqlite3_get_autocommit(db_) == 0; }

  int schema_version() override {
    // In one transaction: another first run may be making the tables between two looks.
    const bool alone = !in_transaction();
    if (alone) execute("BEGIN");
    const int version = number("PRAGMA user_version");
    const int application = number("PRAGMA application_id");
    const int tables = number("SELECT count(*) FROM sqlite_master");
    if (alone) execute("COMMIT");
    if (tables > 0 && application != kApplicationId)
      throw bad_input(path_ + ": a database of another program; name another with --store");
    return version;
  }
  void set_schema_version(int version) override {
    execute("PRAGMA application_id = " + std::to_string(kApplicationId));
    execute("PRAGMA user_version = " + std::to_string(version));
  }
  void lock_schema() override {}  // begin() takes the whole file
  void ready() override {
    execute("PRAGMA synchronous = FULL");
    // Not before: a migration takes over what it finds.
    execute("PRAGMA foreign_keys = ON");
  }
  std::string id_type() const override { return "INTEGER PRIMARY KEY"; }
  std::string text_type() const override { return "TEXT"; }

  void require_writer() override {}
  void grant(const std::string& /*role*/, bool /*write*/) override {
    throw bad_input(path_ + ": a file has no roles; its permissions say who may read and write it");
  }
  std::string place() const override { return ""; }

 private:
  int number(const char* sql) {
    const auto rows = query(sql, {});
    return rows.empty() ? 0 : static_cast<int>(rows.front().integer(0));
  }

  std::string path_;
  sqlite3* db_ = nullptr;
};

}  // namespace

std::unique_ptr<Database> open_sqlite(const std::string& path) {
  auto db = std::make_unique<SqliteDatabase>(path);
  db->open();
  return db;
}

std::unique_ptr<Database> open_sqlite_copy(const std::string& path) {
  auto db = std::make_unique<SqliteDatabase>(path);
  db->open_copy();
  return db;
}

}  // namespace ampere

#include "store/store.h"

#include <sqlite3.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "store/plausible.h"

namespace ampere {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kApplicationId = 0x414d5052;  // "AMPR"

constexpr const char* kSchema = R"sql(
CREATE TABLE device (
  id          TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  last_used   TEXT NOT NULL
);
CREATE TABLE point (
  id          INTEGER PRIMARY KEY,
  device      TEXT NOT NULL REFERENCES device(id),
  recipe      TEXT NOT NULL,
  surface     TEXT NOT NULL,
  channels_in INTEGER NOT NULL,
  channels_out INTEGER NOT NULL,
  variant     TEXT NOT NULL,
  measurement TEXT NOT NULL,
  measured_at TEXT NOT NULL
);
CREATE INDEX point_by_surface ON point(device, recipe, surface);
CREATE TABLE fact (
  device TEXT NOT NULL REFERENCES device(id),
  recipe TEXT NOT NULL,
  name   TEXT NOT NULL,
  value  TEXT NOT NULL,
  PRIMARY KEY (device, recipe, name)
);
)sql";

// What went wrong and what to do about it.
[[noreturn]] void fail(sqlite3* db, int code, const std::string& path) {
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

}  // namespace

struct Store::Impl {
  std::string path;
  sqlite3* db = nullptr;

  ~Impl() { sqlite3_close(db); }

  void execute(const char* sql) const {
    const int code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(db, code, path);
  }
};

namespace {

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
    return data ? std::string(reinterpret_cast<const char*>(data)) : "";
  }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  void check(int code) const {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    fail(db_, code, path_);
  }

  sqlite3* db_;
  std::string path_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

int pragma(sqlite3* db, const std::string& path, const char* sql) {
  Statement s(db, path, sql);
  return s.step() ? static_cast<int>(s.integer(0)) : 0;
}

}  // namespace

Store::Store(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error)
    throw Error(ErrorKind::kFailed, folder.string() + ": cannot be created: " + error.message() +
                                        "; check its permissions or name another with --store");
  if (const int code = sqlite3_open(path.c_str(), &impl_->db); code != SQLITE_OK) fail(impl_->db, code, path);
  sqlite3_busy_timeout(impl_->db, 10000);
  // In one transaction: another first run may be making the tables between two looks.
  impl_->execute("BEGIN");
  const int version = pragma(impl_->db, path, "PRAGMA user_version");
  const int application = pragma(impl_->db, path, "PRAGMA application_id");
  const int tables = pragma(impl_->db, path, "SELECT count(*) FROM sqlite_master");
  impl_->execute("COMMIT");
  if (tables > 0 && application != kApplicationId) {
    throw bad_input(path + ": a database of another program; name another with --store");
  }
  if (version > kSchemaVersion) {
    throw bad_input(path + ": written by a newer version of ampere (store version " +
                    std::to_string(version) + ", this one reads " + std::to_string(kSchemaVersion) +
                    "); update ampere or name another with --store");
  }
  impl_->execute("PRAGMA foreign_keys = ON");
  impl_->execute("PRAGMA synchronous = FULL");
  if (version == 0) {
    // Immediate: of two first runs at once, the second waits and then finds the tables there.
    impl_->execute("BEGIN IMMEDIATE");
    if (pragma(impl_->db, path, "PRAGMA user_version") == 0) {
      impl_->execute(kSchema);
      impl_->execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
      impl_->execute(("PRAGMA user_version = " + std::to_string(kSchemaVersion)).c_str());
    }
    impl_->execute("COMMIT");
  }
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::string& Store::path() const { return impl_->path; }

std::string Store::add_device(const Json& fingerprint) {
  const std::string text = fingerprint.dump();
  std::string id = hex_digest(text);
  Statement s(impl_->db, impl_->path,
              "INSERT INTO device(id, fingerprint, last_used) VALUES(?, ?, ?) "
              "ON CONFLICT(id) DO UPDATE SET last_used = excluded.last_used");
  s.bind(id).bind(text).bind(utc_now()).step();
  return id;
}

static StoredDevice device_from(const std::string& id, const std::string& fingerprint,
                                const std::string& last_used) {
  StoredDevice device{id, Json::object(), last_used, ""};
  try {
    Json read = parse_json(fingerprint, "fingerprint");
    require_fingerprint(read, "fingerprint");
    device.fingerprint = std::move(read);
  } catch (const Error& e) {
    device.problem = e.what();
  }
  return device;
}

std::vector<StoredDevice> Store::devices() const {
  Statement s(impl_->db, impl_->path,
              "SELECT id, fingerprint, last_used FROM device ORDER BY last_used DESC, id");
  std::vector<StoredDevice> out;
  while (s.step()) out.push_back(device_from(s.text(0), s.text(1), s.text(2)));
  return out;
}

void Store::add_point(const std::string& device, const std::string& recipe, const StoredPoint& point) {
  Statement s(impl_->db, impl_->path,
              "INSERT INTO point(device, recipe, surface, channels_in, channels_out, variant, measurement, "
              "measured_at) "
              "VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  s.bind(device).bind(recipe).bind(point.surface).bind(point.channels.in).bind(point.channels.out);
  s.bind(point.variant).bind(to_json(point.measurement).dump());
  s.bind(point.measured_at.empty() ? utc_now() : point.measured_at).step();
}

std::vector<StoredPoint> Store::points(const std::string& device, const std::string& recipe,
                                       const std::string& surface) const {
  Statement s(impl_->db, impl_->path,
              "SELECT channels_in, channels_out, variant, measurement, measured_at, id FROM point "
              "WHERE device = ? AND recipe = ? AND surface = ? ORDER BY id");
  s.bind(device).bind(recipe).bind(surface);
  std::vector<StoredPoint> out;
  while (s.step()) {
    try {
      const Json measurement = parse_json(s.text(3), "measurement");
      out.push_back(
          {surface, {s.integer(0), s.integer(1)}, s.text(2), measurement_from_json(measurement), s.text(4)});
    } catch (const Error& e) {
      const StoreProblem problem{"point", s.integer(5), device, surface, e.what()};
      throw bad_input(path() + ": " + problem.text() + "; remove it with: ampere store remove --point " +
                      std::to_string(problem.row));
    }
  }
  return out;
}

std::vector<SurfaceCount> Store::surfaces(const std::string& device) const {
  Statement s(impl_->db, impl_->path,
              "SELECT recipe, surface, count(*) FROM point WHERE device = ? GROUP BY recipe, surface ORDER "
              "BY recipe, surface");
  s.bind(device);
  std::vector<SurfaceCount> out;
  while (s.step()) out.push_back({s.text(0), s.text(1), static_cast<int>(s.integer(2))});
  return out;
}

void Store::put_fact(const std::string& device, const std::string& recipe, const std::string& name,
                     const Json& value) {
  Statement s(impl_->db, impl_->path,
              "INSERT OR REPLACE INTO fact(device, recipe, name, value) VALUES(?, ?, ?, ?)");
  s.bind(device).bind(recipe).bind(name).bind(value.dump()).step();
}

static Json fact_from(const std::string& path, const std::string& device, const std::string& name,
                      const std::string& text) {
  try {
    Json value = parse_json(text, "value");
    require_plausible_fact(name, value, "value");
    return value;
  } catch (const Error& e) {
    throw bad_input(path + ": fact " + name + " on device " + device + ": " + e.what() +
                    "; remove it with: ampere store check --remove");
  }
}

std::optional<Json> Store::fact(const std::string& device, const std::string& recipe,
                                const std::string& name) const {
  Statement s(impl_->db, impl_->path, "SELECT value FROM fact WHERE device = ? AND recipe = ? AND name = ?");
  s.bind(device).bind(recipe).bind(name);
  if (!s.step()) return std::nullopt;
  return fact_from(path(), device, name, s.text(0));
}

std::vector<StoredFact> Store::facts(const std::string& device) const {
  Statement s(impl_->db, impl_->path,
              "SELECT recipe, name, value FROM fact WHERE device = ? ORDER BY recipe, name");
  s.bind(device);
  std::vector<StoredFact> out;
  while (s.step()) out.push_back({s.text(0), s.text(1), fact_from(path(), device, s.text(1), s.text(2))});
  return out;
}

std::string StoreProblem::text() const {
  std::string text = kind;
  if (kind == "point") text += " " + std::to_string(row);
  if (kind == "point") text += " of " + subject;
  if (kind == "fact") text += " " + subject;
  if (kind != "device") text += " on device";
  return text + " " + device + ": " + what;
}

std::vector<StoreProblem> Store::problems() const {
  std::vector<StoreProblem> found;
  for (const StoredDevice& d : devices()) {
    if (!d.problem.empty()) {
      found.push_back({"device", 0, d.id, "", d.problem});
      continue;
    }
    const auto note = [&](const char* kind, const Statement& s, const std::string& subject,
                          const auto& read) {
      try {
        read();
      } catch (const Error& e) {
        found.push_back({kind, s.integer(0), d.id, subject, e.what()});
      }
    };
    Statement point(impl_->db, impl_->path,
                    "SELECT id, surface, measurement FROM point WHERE device = ? ORDER BY id");
    point.bind(d.id);
    while (point.step()) {
      note("point", point, point.text(1),
           [&] { measurement_from_json(parse_json(point.text(2), "measurement")); });
    }
    Statement fact(impl_->db, impl_->path,
                   "SELECT rowid, recipe, name, value FROM fact WHERE device = ? ORDER BY recipe, name");
    fact.bind(d.id);
    while (fact.step()) {
      const std::string name = fact.text(2);
      note("fact", fact, fact.text(1).empty() ? name : name + " (" + fact.text(1) + ")",
           [&] { require_plausible_fact(name, parse_json(fact.text(3), "value"), "value"); });
    }
  }
  return found;
}

bool Store::remove_point(std::int64_t id) {
  Statement s(impl_->db, impl_->path, "DELETE FROM point WHERE id = ?");
  s.bind(id).step();
  return sqlite3_changes(impl_->db) > 0;
}

void Store::remove(const StoreProblem& problem) {
  if (problem.kind == "point") {
    remove_point(problem.row);
    return;
  }
  if (problem.kind == "fact") {
    Statement s(impl_->db, impl_->path, "DELETE FROM fact WHERE rowid = ?");
    s.bind(problem.row).step();
    return;
  }
  impl_->execute("BEGIN IMMEDIATE");
  try {
    for (const char* sql : {"DELETE FROM point WHERE device = ?", "DELETE FROM fact WHERE device = ?",
                            "DELETE FROM device WHERE id = ?"}) {
      Statement(impl_->db, impl_->path, sql).bind(problem.device).step();
    }
  } catch (const Error&) {
    sqlite3_exec(impl_->db, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  impl_->execute("COMMIT");
}

void require_store_path(const std::string& path) {
  if (path.empty()) {
    throw bad_input(
        "no file for measurements is named, and neither HOME nor XDG_DATA_HOME says where one would be; name "
        "one with --store or AMPERE_STORE");
  }
  if (path.front() == ':' || path.rfind("file:", 0) == 0)
    throw bad_input("--store must name a file, found \"" + path + "\"; for a file of that name write ./" +
                    path);
}

Store Store::to_read(const std::string& path) {
  require_store_path(path);
  namespace fs = std::filesystem;
  std::error_code unknown;
  fs::path near = path;
  while (!near.empty() && !fs::exists(near, unknown) && near != near.parent_path()) near = near.parent_path();
  const bool absent = near != fs::path(path) && (near.empty() || fs::is_directory(near, unknown));
  if (!absent) return Store(path);
  Store empty(":memory:");
  empty.impl_->path = path;
  return empty;
}

std::string default_store_path() {
  if (const char* path = std::getenv("AMPERE_STORE"); path && *path) return path;
  if (const char* data = std::getenv("XDG_DATA_HOME"); data && *data)
    return std::string(data) + "/ampere/profiles.db";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.local/share/ampere/profiles.db" : "";
}

std::string hex_digest(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  static const char* digits = "0123456789abcdef";
  std::string out(16, '0');
  for (std::size_t i = 0; i < 16; ++i) out[15 - i] = digits[hash >> (4 * i) & 15];
  return out;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace ampere

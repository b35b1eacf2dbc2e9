#include "store/store.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/digest.h"
#include "base/error.h"
#include "layers/kind_json.h"
#include "store/migrate.h"
#include "store/plausible.h"
#include "store/sqlite.h"

namespace ampere {
namespace {

// 1: surfaces by their names alone. 2: surfaces typed, points with their origin (docs/store.md).
constexpr int kSchemaVersion = 2;
constexpr int kApplicationId = 0x414d5052;  // "AMPR"

constexpr const char* kSchema = R"sql(
CREATE TABLE device (
  id          TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  last_used   TEXT NOT NULL
);
CREATE TABLE fact (
  device TEXT NOT NULL REFERENCES device(id),
  recipe TEXT NOT NULL,
  name   TEXT NOT NULL,
  value  TEXT NOT NULL,
  PRIMARY KEY (device, recipe, name)
);
)sql";

// What version 2 brought.
constexpr const char* kSurfaces = R"sql(
CREATE TABLE surface (
  name    TEXT PRIMARY KEY,
  purpose TEXT NOT NULL,
  method  TEXT NOT NULL,
  role    TEXT NOT NULL,
  phase   TEXT NOT NULL,
  details TEXT NOT NULL
);
CREATE TABLE point (
  id          INTEGER PRIMARY KEY,
  device      TEXT NOT NULL REFERENCES device(id),
  recipe      TEXT NOT NULL,
  surface     TEXT NOT NULL REFERENCES surface(name),
  channels_in INTEGER NOT NULL,
  channels_out INTEGER NOT NULL,
  variant     TEXT NOT NULL,
  measurement TEXT NOT NULL,
  measured_at TEXT NOT NULL,
  origin      TEXT NOT NULL DEFAULT ''
);
CREATE INDEX point_by_surface ON point(device, recipe, surface);
)sql";

void add_surface(sqlite3* db, const std::string& path, const StoredSurface& s) {
  Statement insert(
      db, path,
      "INSERT INTO surface(name, purpose, method, role, phase, details) VALUES(?, ?, ?, ?, ?, ?) "
      "ON CONFLICT(name) DO UPDATE SET purpose = excluded.purpose, method = excluded.method, "
      "role = excluded.role, phase = excluded.phase, details = excluded.details "
      "WHERE instr(details, '\"kind\"') = 0 AND length(excluded.details) > length(details)");
  insert.bind(s.name).bind(to_word(s.purpose)).bind(s.method).bind(to_word(s.role)).bind(to_word(s.phase));
  // Names come from files of strangers, and need not be UTF-8.
  insert.bind(details_to_json(s).dump(-1, ' ', false, Json::error_handler_t::replace)).step();
}

// Types what version 1 knew by name, and gives every point an origin.
void migrate_from_1(sqlite3* db, const std::string& path) {
  std::vector<SurfaceOfVersion1> old;
  {
    // SQLite takes the other columns from the row that has the maximum.
    Statement s(db, path,
                "SELECT surface, channels_in, channels_out, variant, max(channels_in + channels_out) "
                "FROM point GROUP BY surface ORDER BY surface");
    while (s.step()) old.push_back({s.text(0), {s.integer(1), s.integer(2)}, s.text(3)});
  }
  const auto execute = [&](const char* sql) {
    if (const int code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr); code != SQLITE_OK)
      store_failed(db, code, path);
  };
  execute("ALTER TABLE point RENAME TO point_of_1; DROP INDEX IF EXISTS point_by_surface");
  execute(kSurfaces);
  for (const StoredSurface& s : typed(old)) add_surface(db, path, s);
  execute(
      "INSERT INTO point(id, device, recipe, surface, channels_in, channels_out, variant, measurement, "
      "measured_at) SELECT id, device, recipe, surface, channels_in, channels_out, variant, measurement, "
      "measured_at FROM point_of_1; DROP TABLE point_of_1");
}

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
  if (const int code = sqlite3_open(path.c_str(), &impl_->db); code != SQLITE_OK)
    store_failed(impl_->db, code, path);
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
  if (version < 0)
    throw bad_input(path + ": damaged (store version " + std::to_string(version) +
                    "); name another with --store");
  if (version > kSchemaVersion) {
    throw bad_input(path + ": written by a newer version of ampere (store version " +
                    std::to_string(version) + ", this one reads " + std::to_string(kSchemaVersion) +
                    "); update ampere or name another with --store");
  }
  impl_->execute("PRAGMA synchronous = FULL");
  if (version != kSchemaVersion) make_tables();
  // After a migration, which takes over what it finds.
  impl_->execute("PRAGMA foreign_keys = ON");
}

void Store::make_tables() {
  const std::string& path = impl_->path;
  // Immediate: of two first runs at once, the second waits and then finds the tables there.
  Transaction transaction(*this);
  const int found = pragma(impl_->db, path, "PRAGMA user_version");
  if (found == 0) {
    impl_->execute(kSchema);
    impl_->execute(kSurfaces);
    impl_->execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  } else if (found == 1) {
    migrate_from_1(impl_->db, path);
  }
  if (found < kSchemaVersion)
    impl_->execute(("PRAGMA user_version = " + std::to_string(kSchemaVersion)).c_str());
  transaction.commit();
}

Store::Transaction::Transaction(Store& store) : store_(store) { store_.impl_->execute("BEGIN IMMEDIATE"); }

Store::Transaction::~Transaction() {
  if (open_) sqlite3_exec(store_.impl_->db, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Store::Transaction::commit() {
  store_.impl_->execute("COMMIT");
  open_ = false;
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

std::string Store::know_device(const Json& fingerprint) {
  const std::string text = fingerprint.dump();
  std::string id = hex_digest(text);
  Statement s(impl_->db, impl_->path,
              "INSERT INTO device(id, fingerprint, last_used) VALUES(?, ?, '') ON CONFLICT(id) DO NOTHING");
  s.bind(id).bind(text).step();
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

void Store::add_point(const std::string& device, const std::string& recipe, const StoredSurface& surface,
                      const StoredPoint& point) {
  // One transaction of its own, unless it is part of one.
  std::optional<Transaction> transaction;
  if (sqlite3_get_autocommit(impl_->db) != 0) transaction.emplace(*this);
  add_surface(impl_->db, impl_->path, surface);
  Statement s(impl_->db, impl_->path,
              "INSERT INTO point(device, recipe, surface, channels_in, channels_out, variant, measurement, "
              "measured_at, origin) "
              "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
  s.bind(device).bind(recipe).bind(surface.name).bind(point.channels.in).bind(point.channels.out);
  s.bind(point.variant).bind(to_json(point.measurement).dump());
  s.bind(point.measured_at.empty() ? utc_now() : point.measured_at).bind(point.origin).step();
  if (transaction) transaction->commit();
}

std::vector<StoredPoint> Store::points(const std::string& device, const std::string& recipe,
                                       const std::string& surface) const {
  Statement s(impl_->db, impl_->path,
              "SELECT channels_in, channels_out, variant, measurement, measured_at, origin, id FROM point "
              "WHERE device = ? AND recipe = ? AND surface = ? ORDER BY id");
  s.bind(device).bind(recipe).bind(surface);
  std::vector<StoredPoint> out;
  while (s.step()) {
    try {
      require_channels({s.integer(0), s.integer(1)});
      const Json measurement = parse_json(s.text(3), "measurement");
      out.push_back({surface,
                     {s.integer(0), s.integer(1)},
                     s.text(2),
                     measurement_from_json(measurement),
                     s.text(4),
                     s.text(5)});
    } catch (const Error& e) {
      const StoreProblem problem{"point", s.integer(6), device, surface, e.what()};
      throw bad_input(path() + ": " + problem.text() + "; remove it with: ampere store remove --point " +
                      std::to_string(problem.row) + " --store " + path());
    }
  }
  return out;
}

std::vector<SurfaceCount> Store::surfaces(const std::string& device) const {
  Statement s(impl_->db, impl_->path,
              "SELECT p.recipe, p.surface, s.purpose, s.method, s.role, s.phase, s.details, count(*) "
              "FROM point p LEFT JOIN surface s ON s.name = p.surface WHERE p.device = ? "
              "GROUP BY p.recipe, p.surface ORDER BY p.recipe, p.surface");
  s.bind(device);
  std::vector<SurfaceCount> out;
  while (s.step()) {
    const std::string where = path() + ": surface " + s.text(1);
    StoredSurface surface;
    surface.name = s.text(1);
    try {
      surface.purpose = purpose_from_word(s.text(2));
      surface.method = s.text(3);
      surface.role = role_from_word(s.text(4));
      surface.phase = phase_from_word(s.text(5));
      read_details(parse_json(s.text(6), where), where, surface);
    } catch (const Error&) {
      surface.kind.reset();  // a damaged row: its points are kept, and nothing tells what they are of
    }
    out.push_back({s.text(0), std::move(surface), static_cast<int>(s.integer(7))});
  }
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

void require_store_path(const std::string& path) {
  if (path.empty()) {
    throw bad_input(
        "no file for measurements is named, and neither HOME nor XDG_DATA_HOME says where one would be; name "
        "one with --store or AMPERE_STORE");
  }
  if (path.front() == ':' || path.rfind("file:", 0) == 0)
    throw bad_input("--store must name a file, found \"" + path + "\"; for a file of that name write ./" +
                    path);
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    throw bad_input(path + ": a folder; --store must name a file");
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown))
    throw bad_input(path + ": a pipe or a device, which keeps nothing; --store must name a file");
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

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace ampere

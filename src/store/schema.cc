#include "store/schema.h"

#include <map>
#include <random>

#include "base/digest.h"
#include "base/json.h"
#include "store/migrate.h"

namespace ampere {
namespace {

constexpr const char* kDevices = R"sql(
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
  id          ID,
  device      TEXT NOT NULL REFERENCES device(id),
  recipe      TEXT NOT NULL,
  surface     TEXT NOT NULL REFERENCES surface(name),
  channels_in BIGINT NOT NULL,
  channels_out BIGINT NOT NULL,
  variant     TEXT NOT NULL,
  measurement TEXT NOT NULL,
  measured_at TEXT NOT NULL,
  origin      TEXT NOT NULL DEFAULT ''
);
CREATE INDEX point_by_surface ON point(device, recipe, surface);
)sql";

std::string in_dialect(const Database& db, std::string sql) {
  const auto replace = [&](const std::string& what, const std::string& by) {
    for (std::size_t at = sql.find(what); at != std::string::npos; at = sql.find(what, at + by.size()))
      sql.replace(at, what.size(), by);
  };
  replace(" ID,", " " + db.id_type() + ",");
  replace(" TEXT ", " " + db.text_type() + " ");
  return sql;
}

// Types what version 1 knew by name, and gives every point an origin. Only files are that old.
void migrate_from_1(Database& db) {
  std::vector<SurfaceOfVersion1> old;
  // SQLite takes the other columns from the row that has the maximum.
  for (const SqlRow& row :
       db.query("SELECT surface, channels_in, channels_out, variant, max(channels_in + channels_out) "
                "FROM point GROUP BY surface ORDER BY surface"))
    old.push_back({row.text(0), {row.integer(1), row.integer(2)}, row.text(3)});
  db.execute("ALTER TABLE point RENAME TO point_of_1; DROP INDEX IF EXISTS point_by_surface");
  db.execute(in_dialect(db, kSurfaces));
  for (const StoredSurface& s : typed(old)) add_surface(db, s);
  db.execute(
      "INSERT INTO point(id, device, recipe, surface, channels_in, channels_out, variant, measurement, "
      "measured_at) SELECT id, device, recipe, surface, channels_in, channels_out, variant, measurement, "
      "measured_at FROM point_of_1; DROP TABLE point_of_1");
}

// Points get an identity. That of old ones is made of what they say, so that copies of one point in two
// stores have the same; of equal points in one store each has its own.
void migrate_from_2(Database& db) {
  db.execute(in_dialect(db, "ALTER TABLE point ADD COLUMN identity TEXT NOT NULL DEFAULT ''"));
  std::map<std::string, int> seen;
  for (const SqlRow& row : db.query("SELECT id, device, recipe, surface, channels_in, channels_out, "
                                    "measured_at, measurement FROM point ORDER BY id")) {
    std::string content;
    for (std::size_t column = 1; column <= 7; ++column) content += row.text(column) + '\n';
    std::string identity = hex_digest(content) + hex_digest("second half\n" + content);
    if (const int copies = seen[identity]++; copies > 0) {
      content += std::to_string(copies);
      identity = hex_digest(content) + hex_digest("second half\n" + content);
    }
    db.query("UPDATE point SET identity = $1 WHERE id = $2", {identity, row.integer(0)});
  }
  db.execute(
      "CREATE UNIQUE INDEX point_by_identity ON point(device, identity);"
      "CREATE INDEX device_by_use ON device(last_used DESC, id);"
      "CREATE INDEX fact_by_name ON fact(name)");
}

int known_version(Database& db, const std::string& path) {
  const int version = db.schema_version();
  if (version < 0)
    throw bad_input(path + ": damaged (store version " + std::to_string(version) +
                    "); name another with --store");
  if (version > kStoreVersion) {
    throw bad_input(path + ": written by a newer version of ampere (store version " +
                    std::to_string(version) + ", this one reads " + std::to_string(kStoreVersion) +
                    "); update ampere or name another with --store");
  }
  return version;
}

}  // namespace

void make_tables(Database& db, const std::string& path) {
  if (known_version(db, path) != kStoreVersion) {
    // Of two first runs at once, the second waits here and then finds the tables there.
    db.begin(true);
    try {
      db.lock_schema();
      const int found = known_version(db, path);
      if (found == 0) db.execute(in_dialect(db, std::string(kDevices) + kSurfaces));
      if (found == 1) migrate_from_1(db);
      if (found < 3) migrate_from_2(db);
      if (found < kStoreVersion) db.set_schema_version(kStoreVersion);
      db.commit();
    } catch (...) {
      db.rollback();
      throw;
    }
  }
  db.ready();
}

bool tables_are_current(Database& db, const std::string& path) {
  if (known_version(db, path) != kStoreVersion) return false;
  db.ready();
  return true;
}

void add_surface(Database& db, const StoredSurface& s) {
  // Names come from files of strangers, and need not be UTF-8.
  const std::string details = details_to_json(s).dump(-1, ' ', false, Json::error_handler_t::replace);
  db.query(
      "INSERT INTO surface(name, purpose, method, role, phase, details) VALUES($1, $2, $3, $4, $5, $6) "
      "ON CONFLICT(name) DO UPDATE SET purpose = excluded.purpose, method = excluded.method, "
      "role = excluded.role, phase = excluded.phase, details = excluded.details "
      "WHERE surface.details NOT LIKE '%\"kind\"%' AND length(excluded.details) > length(surface.details)",
      {s.name, to_word(s.purpose), s.method, to_word(s.role), to_word(s.phase), details});
}

std::string new_identity() {
  static const char* digits = "0123456789abcdef";
  thread_local std::random_device source;
  std::string out;
  while (out.size() < 32) {
    const auto bits = source();
    for (int i = 0; i < 8; ++i) out += digits[bits >> (4 * i) & 15];
  }
  return out;
}

}  // namespace ampere

#include "store/store.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <set>

#include "base/digest.h"
#include "base/error.h"
#include "base/parallel.h"
#include "layers/kind_json.h"
#include "store/address.h"
#include "store/plausible.h"
#include "store/schema.h"
#include "store/store_impl.h"

namespace ampere {
namespace {

StoredDevice device_from(const SqlRow& row) {
  StoredDevice device{row.text(0), Json::object(), row.text(2), ""};
  try {
    Json read = parse_json(row.text(1), "fingerprint");
    require_fingerprint(read, "fingerprint");
    device.fingerprint = std::move(read);
  } catch (const Error& e) {
    device.problem = e.what();
  }
  return device;
}

std::vector<StoredDevice> devices_from(const std::vector<SqlRow>& rows) {
  std::vector<StoredDevice> out;
  out.reserve(rows.size());
  for (const SqlRow& row : rows) out.push_back(device_from(row));
  return out;
}

// Databases take some ten thousand values with a question; nobody needs as many at once.
constexpr std::size_t kMostValues = 1000;
// Rows that one core reads together.
constexpr std::size_t kReadTogether = 250;

// Calls `ask` with the values, some at a time, and "($3, $4, ...)" to put into the question: `before` values
// stand before them.
template <class Ask>
void in_portions(const std::vector<std::string>& values, std::size_t before, const Ask& ask) {
  for (std::size_t from = 0; from < values.size(); from += kMostValues) {
    const std::size_t to = std::min(values.size(), from + kMostValues);
    std::string list = "(";
    for (std::size_t i = from; i < to; ++i)
      list += (i > from ? ", $" : "$") + std::to_string(before + 1 + i - from);
    ask(std::vector<SqlValue>(values.begin() + static_cast<std::ptrdiff_t>(from),
                              values.begin() + static_cast<std::ptrdiff_t>(to)),
        list + ")");
  }
}

}  // namespace

bool insert_point(Database& db, const std::string& device, const std::string& recipe,
                  const std::string& surface, const StoredPoint& p) {
  return !db.query(
                "INSERT INTO point(device, recipe, surface, channels_in, channels_out, variant, "
                "measurement, measured_at, origin, identity) "
                "VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
                "ON CONFLICT(device, identity) DO NOTHING RETURNING id",
                {device, recipe, surface, p.channels.in, p.channels.out, p.variant,
                 to_json(p.measurement).dump(), p.measured_at, p.origin, p.identity})
              .empty();
}

Store::Store() : impl_(std::make_unique<Impl>()) {}

Store::Store(const std::string& path) : Store() {
  impl_->path = printable_address(path);
  if (is_server(path)) {
    impl_->db = open_postgres(path);
    make_tables(*impl_->db, impl_->path);
    impl_->db->require_writer();
    deliver_what_waits();
  } else {
    impl_->db = open_sqlite(path);
    make_tables(*impl_->db, path);
  }
}

Store::Transaction::Transaction(Store& store) : store_(store) { store_.impl_->db->begin(true); }

Store::Transaction::~Transaction() {
  if (open_) store_.impl_->db->rollback();
}

void Store::Transaction::commit() {
  store_.impl_->db->commit();
  open_ = false;
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::string& Store::path() const { return impl_->path; }

void Store::grant(const std::string& role, bool write) { impl_->db->grant(role, write); }

std::string Store::add_device(const Json& fingerprint) {
  const std::string text = fingerprint.dump();
  std::string id = hex_digest(text);
  impl_->db->query(
      "INSERT INTO device(id, fingerprint, last_used) VALUES($1, $2, $3) "
      "ON CONFLICT(id) DO UPDATE SET last_used = excluded.last_used",
      {id, text, utc_now(TimeDigits::kMilliseconds)});  // of two devices used within a second one is the last
  impl_->fingerprints[id] = fingerprint;
  return id;
}

std::string Store::know_device(const Json& fingerprint) {
  const std::string text = fingerprint.dump();
  std::string id = hex_digest(text);
  impl_->db->query(
      "INSERT INTO device(id, fingerprint, last_used) VALUES($1, $2, '') ON CONFLICT(id) DO NOTHING",
      {id, text});
  impl_->fingerprints[id] = fingerprint;
  return id;
}

std::vector<StoredDevice> Store::devices() const {
  return devices_from(
      impl_->db->query("SELECT id, fingerprint, last_used FROM device ORDER BY last_used DESC, id"));
}

std::vector<StoredDevice> Store::devices_with_points(int from, int most) const {
  return devices_from(impl_->db->query(
      "SELECT id, fingerprint, last_used FROM device WHERE EXISTS (SELECT 1 FROM point WHERE point.device = "
      "device.id) ORDER BY last_used DESC, id LIMIT $1 OFFSET $2",
      {std::int64_t{most}, std::int64_t{from}}));
}

std::optional<StoredDevice> Store::device(const std::string& id) const {
  const auto rows = impl_->db->query("SELECT id, fingerprint, last_used FROM device WHERE id = $1", {id});
  return rows.empty() ? std::nullopt : std::optional(device_from(rows.front()));
}

std::optional<StoredDevice> Store::device_like(const std::string& beginning) const {
  // Ids are hex digits, all of which come before g.
  const auto rows = impl_->db->query(
      "SELECT id, fingerprint, last_used FROM device WHERE id >= $1 AND id < $2 "
      "ORDER BY last_used DESC, id LIMIT 1",
      {beginning, beginning + "g"});
  return rows.empty() ? std::nullopt : std::optional(device_from(rows.front()));
}

StoredPoint Store::add_point(const std::string& device, const std::string& recipe,
                             const StoredSurface& surface, const StoredPoint& point) {
  StoredPoint kept = point;
  kept.surface = surface.name;
  if (kept.measured_at.empty()) kept.measured_at = utc_now();
  if (kept.identity.empty()) kept.identity = new_identity();
  Database& db = *impl_->db;
  if (db.in_transaction()) {
    add_surface(db, surface);
    insert_point(db, device, recipe, surface.name, kept);
    return kept;
  }
  // One transaction of its own.
  try {
    impl_->atomically(false, [&] {
      if (impl_->surfaces.count(surface.name) == 0) add_surface(db, surface);
      insert_point(db, device, recipe, surface.name, kept);
    });
    impl_->surfaces.insert(surface.name);
  } catch (const ServerAway& away) {
    keep_aside(device, recipe, &surface, kept, nullptr, away.what());
    return kept;
  } catch (const Error& e) {
    // A server that refuses, too, must not cost what was measured.
    if (db.place().empty()) throw;
    keep_aside(device, recipe, &surface, kept, nullptr, e.what());
    throw;
  }
  if (!aside().empty()) deliver_what_waits();
  return kept;
}

std::vector<StoredPoint> Store::points(const std::string& device, const std::string& recipe,
                                       const std::string& surface) const {
  return points(device, recipe, std::vector<std::string>{surface});
}

static StoredPoint point_from(const SqlRow& s, const std::string& device, const std::string& path) {
  try {
    require_channels({s.integer(0), s.integer(1)});
    const Json measurement = parse_json(s.text(3), "measurement");
    return {s.text(8), {s.integer(0), s.integer(1)},
            s.text(2), measurement_from_json(measurement),
            s.text(4), s.text(5),
            s.text(6)};
  } catch (const Error& e) {
    const StoreProblem problem{"point", s.integer(7), device, s.text(8), e.what()};
    throw bad_input(path + ": " + problem.text() + "; remove it with: ampere store remove --point " +
                    std::to_string(problem.row) + " --store " + path);
  }
}

std::vector<StoredPoint> Store::points(const std::string& device, const std::string& recipe,
                                       const std::vector<std::string>& surfaces) const {
  std::vector<StoredPoint> out;
  in_portions(surfaces, 2, [&](std::vector<SqlValue> values, const std::string& list) {
    values.insert(values.begin(), {device, recipe});
    const std::vector<SqlRow> rows = impl_->db->query(
        "SELECT channels_in, channels_out, variant, measurement, measured_at, origin, identity, id, "
        "surface FROM point WHERE device = $1 AND recipe = $2 AND surface IN " +
            list + " ORDER BY id",
        values);
    const std::size_t before = out.size();
    out.resize(before + rows.size());
    in_parallel(rows.size(), kReadTogether, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) out[before + i] = point_from(rows[i], device, path());
    });
  });
  return out;
}

bool Store::has_points(const std::string& device, const std::string& recipe) const {
  return !impl_->db->query("SELECT 1 FROM point WHERE device = $1 AND recipe = $2 LIMIT 1", {device, recipe})
              .empty();
}

std::vector<std::string> Store::recipes(const std::string& device) const {
  std::vector<std::string> out;
  for (const SqlRow& s :
       impl_->db->query("SELECT DISTINCT recipe FROM point WHERE device = $1 ORDER BY recipe", {device}))
    out.push_back(s.text(0));
  return out;
}

static StoredSurface surface_from(const SqlRow& row, const std::string& path) {
  const std::string where = path + ": surface " + row.text(1);
  StoredSurface surface;
  surface.name = row.text(1);
  try {
    surface.purpose = purpose_from_word(row.text(2));
    surface.method = row.text(3);
    surface.role = role_from_word(row.text(4));
    surface.phase = phase_from_word(row.text(5));
    read_details(parse_json(row.text(6), where), where, surface);
  } catch (const Error&) {
    surface.kind.reset();  // a damaged row: its points are kept, and nothing tells what they are of
  }
  return surface;
}

std::vector<SurfaceCount> Store::surfaces(const std::string& device) const {
  const std::vector<SqlRow> rows = impl_->db->query(
      "SELECT p.recipe, p.surface, s.purpose, s.method, s.role, s.phase, s.details, p.points FROM "
      "(SELECT recipe, surface, count(*) AS points FROM point WHERE device = $1 GROUP BY recipe, "
      "surface) p "
      "LEFT JOIN surface s ON s.name = p.surface ORDER BY p.recipe, p.surface",
      {device});
  // Devices share their surfaces; reading what a surface is takes longer than asking for it.
  const auto is_known = [&](const SqlRow& s) {
    const auto known = impl_->typed.find(s.text(1));
    return known != impl_->typed.end() && known->second.first == s.text(6);
  };
  std::vector<const SqlRow*> unknown;  // each surface once, however many recipes have it
  std::set<std::string> named;
  for (const SqlRow& s : rows) {
    if (!is_known(s) && named.insert(s.text(1)).second) unknown.push_back(&s);
  }
  std::vector<StoredSurface> read(unknown.size());
  in_parallel(unknown.size(), kReadTogether, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) read[i] = surface_from(*unknown[i], path());
  });
  for (std::size_t i = 0; i < unknown.size(); ++i)
    impl_->typed[unknown[i]->text(1)] = {unknown[i]->text(6), std::move(read[i])};
  std::vector<SurfaceCount> out;
  out.reserve(rows.size());
  for (const SqlRow& s : rows)
    out.push_back({s.text(0), impl_->typed.at(s.text(1)).second, static_cast<int>(s.integer(7))});
  return out;
}

std::map<std::string, StoredDevice> Store::devices_by_fact(const std::vector<std::string>& names) const {
  std::map<std::string, StoredDevice> out;
  in_portions(names, 0, [&](const std::vector<SqlValue>& values, const std::string& list) {
    for (const SqlRow& s : impl_->db->query(
             "SELECT d.id, d.fingerprint, d.last_used, f.name FROM fact f JOIN device d ON d.id = f.device "
             "WHERE f.name IN " +
                 list + " ORDER BY d.last_used DESC, d.id",
             values)) {
      if (out.count(s.text(3)) == 0) out.emplace(s.text(3), device_from(s));
    }
  });
  return out;
}

bool store_exists(const std::string& path) {
  std::error_code unknown;
  return is_server(path) || std::filesystem::exists(path, unknown);
}

void require_store_path(const std::string& path) {
  if (path.empty()) {
    throw bad_input(
        "no file for measurements is named, and neither HOME nor XDG_DATA_HOME says where one would be; name "
        "one with --store or AMPERE_STORE");
  }
  if (is_server(path)) return;
  const std::size_t scheme = path.find(":/");
  if (scheme != std::string::npos && path.find_first_of("/.") > scheme)
    throw bad_input(
        "--store: \"" + path.substr(0, scheme) +
        ":/...\" is no address of a store; those begin with postgresql://. For a file of that name "
        "write ./" +
        path);
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
  if (is_server(path)) {
    Store store;
    store.impl_->path = printable_address(path);
    store.impl_->db = open_postgres(path);
    if (!tables_are_current(*store.impl_->db, store.path())) {
      if (store.impl_->db->schema_version() > 0) return Store(path);  // of an older version
      store.impl_->db = open_sqlite(":memory:");
      make_tables(*store.impl_->db, store.path());
    }
    return store;
  }
  namespace fs = std::filesystem;
  std::error_code unknown;
  fs::path near = path;
  while (!near.empty() && !fs::exists(near, unknown) && near != near.parent_path()) near = near.parent_path();
  const bool absent = near != fs::path(path) && (near.empty() || fs::is_directory(near, unknown));
  if (!absent) {
    Store store;
    store.impl_->path = path;
    store.impl_->db = open_sqlite(path);
    if (tables_are_current(*store.impl_->db, path)) return store;
    // Of an older version: migrated, where the file may be written, else a copy of it.
    const bool writable = access(path.c_str(), W_OK) == 0;
    if (writable) return Store(path);
    store.impl_->db = open_sqlite_copy(path);
    make_tables(*store.impl_->db, path);
    return store;
  }
  Store empty(":memory:");
  empty.impl_->path = path;
  return empty;
}

std::string data_folder() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data && *data) return std::string(data) + "/ampere";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.local/share/ampere" : "";
}

std::string default_store_path() {
  if (const char* path = std::getenv("AMPERE_STORE"); path && *path) return path;
  const std::string folder = data_folder();
  return folder.empty() ? "" : folder + "/profiles.db";
}

std::string utc_now(TimeDigits digits) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::string fraction;
  if (digits == TimeDigits::kMilliseconds)
    fraction = "." + std::to_string(1000 + now.tv_nsec / 1'000'000).substr(1);
  return text + fraction + "Z";
}

}  // namespace ampere

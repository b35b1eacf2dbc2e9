// Stores: files with bytes that are not as they were, and sound ones whose texts are not. Opened, listed,
// estimated from and reported on, or refused.
#include <sqlite3.h>

#include <cmath>
#include <filesystem>

#include "mutate.h"
#include "report/report.h"
#include "session/session.h"
#include "store_for_fuzz.h"

namespace ampere::fuzz {
namespace {

// Runs a statement; the first column of its rows.
std::vector<std::string> query(sqlite3* db, const std::string& sql,
                               const std::vector<std::string>& values = {}) {
  std::vector<std::string> out;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sqlite3_bind_text(statement, static_cast<int>(i) + 1, values[i].data(),
                      static_cast<int>(values[i].size()), SQLITE_TRANSIENT);
  }
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* data = sqlite3_column_text(statement, 0);
    out.emplace_back(data ? reinterpret_cast<const char*>(data) : "");
  }
  sqlite3_finalize(statement);
  return out;
}

void spoil_cell(Random& random, sqlite3* db) {
  const auto tables = query(db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  if (tables.empty()) return;
  const std::string table = random.of(tables);
  const auto columns = query(db, "SELECT name FROM pragma_table_info('" + table + "')");
  const auto rows = query(db, "SELECT rowid FROM " + table);
  if (columns.empty() || rows.empty()) return;
  const std::string column = random.of(columns), row = random.of(rows);
  const std::string where = " FROM " + table + " WHERE rowid = " + row;
  const auto found = query(db, "SELECT " + column + where);
  if (found.empty()) return;
  if (random.one_in(20)) {
    query(db, "DELETE" + where);
    return;
  }
  const Json json = Json::parse(found.front(), nullptr, false);
  const std::string text =
      json.is_structured() ? spoiled_json(random, {found.front()}) : spoiled_text(random, found.front());
  query(db, "UPDATE " + table + " SET " + column + " = ? WHERE rowid = " + row, {text});
}

std::string spoiled_store(Random& random, const std::vector<std::string>& seeds, const std::string& scratch) {
  std::string bytes = random.of(seeds);
  if (random.one_in(3)) {
    for (std::size_t i = 0, n = 1 + random.below(12); i < n; ++i)
      spoil_bytes(random, bytes, random.of(seeds));
    return bytes;
  }
  write_bytes(scratch, bytes);
  sqlite3* db = nullptr;
  sqlite3_open(scratch.c_str(), &db);
  query(db, "PRAGMA synchronous = OFF");
  query(db, "PRAGMA journal_mode = MEMORY");
  for (std::size_t i = 0, n = 1 + random.below(random.one_in(4) ? 6 : 2); i < n; ++i) spoil_cell(random, db);
  sqlite3_close(db);
  return read_bytes(scratch);
}

// Figures that leave the library are figures.
void require_figures(const Interval& i) {
  if (!std::isfinite(i.value) || !std::isfinite(i.low) || !std::isfinite(i.high))
    throw Wrong{"an estimate is no figure"};
}

bool use_store(const std::string& path) {
  Store store(path);
  bool any = false;
  for (const StoredDevice& device : store.devices()) {
    json_header(device.fingerprint, true);
    takes([&] {
      for (const SurfaceCount& s : store.surfaces(device.id)) {
        takes([&] { store.points(device.id, s.recipe, s.surface.name); });
      }
    });
    takes([&] { store.facts(device.id); });
    any = takes([&] {
            DeviceProfile profile(store, device.id, Recipe().word());
            const Estimate e = estimate_network(profile, find_method("split"), small_network(), kStoreBatch);
            require_figures(e.energy_j);
            require_figures(e.time_s);
          }) ||
          any;
    takes([&] {
      const Json data = report_data(&store, &device, {}, {});
      report_page(data);
    });
  }
  takes([&] { choose_device(store, ""); });
  return any;
}

}  // namespace
}  // namespace ampere::fuzz

int main(int argc, char** argv) {
  using namespace ampere;
  const std::string path = fuzz::scratch_path("store"), scratch = path + "-made";
  std::vector<std::string> seeds;
  for (const bool accelerator : {false, true}) {
    fuzz::make_store(path, accelerator);
    seeds.push_back(fuzz::read_bytes(path));
    std::filesystem::remove(path);
  }
  const auto clear = [&] {
    for (const char* ending : {"", "-journal", "-wal", "-shm", "-made", "-made-journal"})
      std::filesystem::remove(path + ending);
  };
  const int status = fuzz::fuzz_main(
      argc, argv,
      {"store", seeds, [&](fuzz::Random& random) { return fuzz::spoiled_store(random, seeds, scratch); },
       [&](const std::string& input) {
         clear();
         fuzz::write_bytes(path, input);
         return fuzz::use_store(path);
       }});
  clear();
  return status;
}

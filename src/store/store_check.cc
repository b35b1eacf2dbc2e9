// What cannot be used of a store, and removing it.
#include "base/error.h"
#include "store/plausible.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace ampere {

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
    Statement point(
        impl_->db, impl_->path,
        "SELECT id, surface, measurement, channels_in, channels_out FROM point WHERE device = ? ORDER BY id");
    point.bind(d.id);
    while (point.step()) {
      note("point", point, point.text(1), [&] {
        require_channels({point.integer(3), point.integer(4)});
        measurement_from_json(parse_json(point.text(2), "measurement"));
      });
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

}  // namespace ampere

// What cannot be used of a store, and removing it.
#include "base/error.h"
#include "store/plausible.h"
#include "store/store_impl.h"

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
    for (const SqlRow& row : impl_->db->query(
             "SELECT id, surface, measurement, channels_in, channels_out FROM point WHERE device = $1 "
             "ORDER BY id",
             {d.id})) {
      try {
        require_channels({row.integer(3), row.integer(4)});
        measurement_from_json(parse_json(row.text(2), "measurement"));
      } catch (const Error& e) {
        found.push_back({"point", row.integer(0), d.id, row.text(1), e.what()});
      }
    }
    for (const SqlRow& row : impl_->db->query(
             "SELECT recipe, name, value FROM fact WHERE device = $1 ORDER BY recipe, name", {d.id})) {
      const std::string recipe = row.text(0), name = row.text(1);
      try {
        require_plausible_fact(name, parse_json(row.text(2), "value"), "value");
      } catch (const Error& e) {
        const std::string subject = recipe.empty() ? name : name + " (" + recipe + ")";
        found.push_back({"fact", 0, d.id, subject, e.what(), recipe, name});
      }
    }
  }
  return found;
}

bool Store::remove_point(std::int64_t id) {
  return !impl_->db->query("DELETE FROM point WHERE id = $1 RETURNING id", {id}).empty();
}

void Store::remove(const StoreProblem& problem) {
  if (problem.kind == "point") {
    remove_point(problem.row);
    return;
  }
  if (problem.kind == "fact") {
    impl_->db->query("DELETE FROM fact WHERE device = $1 AND recipe = $2 AND name = $3",
                     {problem.device, problem.recipe, problem.name});
    return;
  }
  impl_->atomically(true, [&] {
    for (const char* sql : {"DELETE FROM point WHERE device = $1", "DELETE FROM fact WHERE device = $1",
                            "DELETE FROM device WHERE id = $1"})
      impl_->db->query(sql, {problem.device});
  });
}

}  // namespace ampere

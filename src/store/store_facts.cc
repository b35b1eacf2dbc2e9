// Facts about devices.
#include "base/error.h"
#include "store/plausible.h"
#include "store/store_impl.h"

namespace ampere {

void insert_fact(Database& db, const std::string& device, const StoredFact& fact) {
  db.query(
      "INSERT INTO fact(device, recipe, name, value) VALUES($1, $2, $3, $4) "
      "ON CONFLICT(device, recipe, name) DO UPDATE SET value = excluded.value",
      {device, fact.recipe, fact.name, fact.value.dump()});
}

void Store::put_fact(const std::string& device, const std::string& recipe, const std::string& name,
                     const Json& value) {
  const StoredFact fact{recipe, name, value};
  if (impl_->db->in_transaction() || impl_->db->place().empty()) {
    insert_fact(*impl_->db, device, fact);
    return;
  }
  try {
    impl_->atomically(false, [&] { insert_fact(*impl_->db, device, fact); });
    // An older one that waits must not come after it.
    if (impl_->aside) {
      impl_->aside->impl_->db->query("DELETE FROM fact WHERE device = $1 AND recipe = $2 AND name = $3",
                                     {device, recipe, name});
    }
  } catch (const ServerAway& away) {
    keep_aside(device, recipe, nullptr, {}, &fact, away.what());
  }
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
  const auto rows = impl_->db->query("SELECT value FROM fact WHERE device = $1 AND recipe = $2 AND name = $3",
                                     {device, recipe, name});
  if (rows.empty()) return std::nullopt;
  return fact_from(path(), device, name, rows.front().text(0));
}

std::vector<StoredFact> Store::facts(const std::string& device) const {
  std::vector<StoredFact> out;
  for (const SqlRow& s : impl_->db->query(
           "SELECT recipe, name, value FROM fact WHERE device = $1 ORDER BY recipe, name", {device}))
    out.push_back({s.text(0), s.text(1), fact_from(path(), device, s.text(1), s.text(2))});
  return out;
}

std::vector<StoredFact> Store::facts(const std::string& device, const std::string& recipe,
                                     const std::vector<std::string>& names) const {
  std::vector<SqlValue> values = {device, recipe};
  std::string among;
  for (const std::string& name : names) {
    values.emplace_back(name);
    among += (among.empty() ? "$" : ", $") + std::to_string(values.size());
  }
  std::vector<StoredFact> out;
  for (const SqlRow& s :
       impl_->db->query("SELECT recipe, name, value FROM fact WHERE device = $1 AND (recipe = $2" +
                            (among.empty() ? "" : " OR (recipe = '' AND name IN (" + among + "))") +
                            ") ORDER BY recipe, name",
                        values))
    out.push_back({s.text(0), s.text(1), fact_from(path(), device, s.text(1), s.text(2))});
  return out;
}

std::vector<std::string> Store::devices_with_fact(const std::string& name) const {
  std::vector<std::string> ids;
  for (const SqlRow& s :
       impl_->db->query("SELECT id FROM device WHERE id IN (SELECT device FROM fact WHERE name = $1) "
                        "ORDER BY last_used DESC, id",
                        {name}))
    ids.push_back(s.text(0));
  return ids;
}

}  // namespace ampere

#include "measured_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "base/error.h"
#include "base/json.h"

namespace ampere::limits {
namespace {

constexpr double kUsualRow_s = 4;  // of rows that do not tell

std::set<int> limits_in(const std::string& text) {
  std::set<int> limits;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) limits.insert(std::stoi(word));
  return limits;
}

std::string number_word(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::set<int> usual_seen(const Measured& m) {
  std::set<int> all;
  for (const MeasuredRow& row : m.rows) {
    if (row.row.setting.clock_mhz == 0) all.insert(static_cast<int>(row.row.setting.limit_w));
  }
  if (all.size() <= 3) return all;
  const double middle = (m.device.usual_limit_w + *all.begin()) / 2;
  int nearest = *all.begin();
  for (const int limit : all) {
    if (std::abs(limit - middle) < std::abs(nearest - middle)) nearest = limit;
  }
  return {*all.begin(), nearest, *all.rbegin()};
}

}  // namespace

Measured read_measured(const std::string& text, const std::string& what, const std::string& seen,
                       const std::string& clock) {
  Measured m;
  m.device = known_levers().device();
  m.most_limit_w = m.device.usual_limit_w;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Json json = parse_json(line, what);
    const JsonReader r(json, what);
    const std::string kind = r.text("kind", "row");
    if (kind == "machine") {
      m.device = {r.text("card", "?"), r.number("most_clock_mhz"), r.number("usual_limit_w"),
                  r.number("least_limit_w")};
      m.most_limit_w = r.number("most_limit_w", m.device.usual_limit_w);
      continue;
    }
    MeasuredRow row;
    row.model = r.text("name") + " b" + std::to_string(r.integer("batch", 1));
    row.precision = r.text("precision", "default");
    row.row.network = row.model + " " + row.precision;
    if (kind == "in_turn") {
      m.in_turn_s[row.row.network] = r.number("search_s");
      continue;
    }
    row.row.setting = {r.number("limit_w", 0), r.number("clock_mhz", 0)};
    if (row.row.setting.as_it_comes()) continue;
    row.row.energy_j = r.number("joules");
    row.row.time_s = r.number("seconds");
    row.scatter = r.number("scatter", 0);
    row.spent_s = r.number("spent_s", kUsualRow_s);
    m.assumed_spent = m.assumed_spent || !json.contains("spent_s");
    m.rows.push_back(row);
  }
  m.seen = seen.empty() ? usual_seen(m) : limits_in(seen);
  if (m.seen.size() > 3) throw bad_input("a profile that saw more than three limits is no test");
  for (const MeasuredRow& row : m.rows) {
    const double mhz = row.row.setting.clock_mhz;
    if (clock == "highest" || clock == number_word(mhz)) m.seen_clock = std::max(m.seen_clock, mhz);
  }
  if (!clock.empty() && m.seen_clock == 0)
    throw bad_input("no row is at a clock of " + clock + " MHz; write one that was measured, or highest");
  return m;
}

bool is_seen(const Measured& m, const MeasuredRow& row) {
  if (row.row.setting.clock_mhz > 0) return row.row.setting.clock_mhz == m.seen_clock;
  return m.seen.count(static_cast<int>(row.row.setting.limit_w)) != 0;
}

const MeasuredRow* usual_of(const Measured& m, const std::string& network) {
  for (const MeasuredRow& row : m.rows) {
    if (row.row.network == network && row.row.setting.clock_mhz == 0 &&
        row.row.setting.limit_w >= m.device.usual_limit_w)
      return &row;
  }
  return nullptr;
}

std::vector<std::string> models_of(const Measured& m) {
  std::set<std::string> models;
  for (const MeasuredRow& row : m.rows) {
    if (usual_of(m, row.row.network) != nullptr) models.insert(row.model);
  }
  return {models.begin(), models.end()};
}

}  // namespace ampere::limits

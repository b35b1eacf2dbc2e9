#include "measure/measurement.h"

#include <algorithm>
#include <cstdio>

#include "base/capped.h"
#include "base/error.h"

namespace ampere {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> optional_number(const JsonReader& r, const std::string& key, const Json& json) {
  if (!r.has(key) || json.at(key).is_null()) return std::nullopt;
  return r.number(key);
}

std::vector<std::string> texts(const JsonReader& r, const std::string& key) {
  std::vector<std::string> out;
  for (const Json& text : r.array(key)) {
    if (!text.is_string()) throw bad_input(r.where() + ": field \"" + key + "\" must be a list of texts");
    out.push_back(text.get<std::string>());
  }
  return out;
}

// A large network runs a hundred or so.
std::vector<std::string> kernel_names(const JsonReader& r) {
  constexpr std::size_t kMost = 1000, kLongest = 200;
  std::vector<std::string> names = texts(r, "kernels");
  if (names.size() > kMost) {
    throw bad_input(r.where() + ": field \"kernels\" must have at most " + std::to_string(kMost) +
                    " names, found " + std::to_string(names.size()));
  }
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kLongest)
      throw bad_input(r.where() + ": names in \"kernels\" must have 1 to " + std::to_string(kLongest) +
                      " characters");
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Json to_json(const DeviceState& s) {
  return {{"temperature_c", or_null(s.temperature_c)},
          {"clock_mhz", or_null(s.clock_mhz)},
          {"power_limit_w", s.power_limit ? Json(s.power_limit->value()) : Json(nullptr)},
          {"throttle", s.throttle}};
}

DeviceState state_from_json(const JsonReader& parent, const std::string& key) {
  if (!parent.has(key)) return {};
  const Json& json = parent.object(key);
  JsonReader r(json, key);
  DeviceState state{optional_number(r, "temperature_c", json), optional_number(r, "clock_mhz", json), {}, {}};
  if (auto watts = optional_number(r, "power_limit_w", json)) state.power_limit = Watts(*watts);
  if (!r.has("throttle")) return state;
  state.throttle = texts(r, "throttle");
  return state;
}

}  // namespace

Json to_json(const Measurement& m) {
  Json json = {{"energy_j", or_null(m.energy_j)},
               {"time_s", m.time_s},
               {"energy_error", m.energy_error},
               {"time_error", m.time_error},
               {"host_s", or_null(m.host_s)},
               {"windows", m.windows},
               {"outliers", m.outliers},
               {"iterations", m.iterations},
               {"stable", m.stable},
               {"modelled", m.modelled},
               {"metering_overhead", or_null(m.metering_overhead)},
               {"discrepancy", or_null(m.discrepancy)},
               {"meter", m.meter},
               {"mode", m.mode},
               {"note", m.note},
               {"before", to_json(m.before)},
               {"after", to_json(m.after)}};
  if (m.drift != 0) json["drift"] = m.drift;
  if (m.throttled) json["throttled"] = true;
  if (!m.kernels.empty()) json["kernels"] = m.kernels;
  return json;
}

Measurement measurement_from_json(const Json& json) {
  JsonReader r(json, "measurement");
  Measurement m;
  m.energy_j = optional_number(r, "energy_j", json);
  m.time_s = r.number("time_s");
  m.energy_error = r.number_between("energy_error", 0, 0, 1e6);
  m.time_error = r.number_between("time_error", 0, 0, 1e6);
  m.host_s = optional_number(r, "host_s", json);
  m.windows = static_cast<int>(r.integer_between("windows", 0, 0, 1000000000));
  m.outliers = static_cast<int>(r.integer_between("outliers", 0, 0, 1000000000));
  m.iterations = r.integer_between("iterations", 0, 0, INT64_MAX);
  m.stable = r.boolean("stable", false);
  m.modelled = r.boolean("modelled", false);
  m.metering_overhead = optional_number(r, "metering_overhead", json);
  m.discrepancy = optional_number(r, "discrepancy", json);
  m.drift = r.number_between("drift", 0, -1, 1e6);
  m.throttled = r.boolean("throttled", false);
  m.meter = r.text("meter", "");
  m.mode = r.text("mode", "eager");
  m.note = capped(r.text("note", ""));
  if (r.has("kernels")) m.kernels = kernel_names(r);
  m.before = state_from_json(r, "before");
  m.after = state_from_json(r, "after");
  require_plausible(m.energy_j, m.time_s, m.host_s, "measurement");
  return m;
}

void require_plausible(const std::optional<double>& energy_j, double time_s,
                       const std::optional<double>& host_s, const std::string& where) {
  const auto require = [&](const char* name, const char* unit, double value, double low, double high) {
    if (value >= low && value <= high) return;
    char text[200];
    std::snprintf(text, sizeof text,
                  ": \"%s\" of an iteration cannot be %.3g %s; between %g and %g is possible", name, value,
                  unit, low, high);
    throw bad_input(where + text);
  };
  require("time_s", "s", time_s, kLeastSeconds, kMostSeconds);
  if (host_s) require("host_s", "s", *host_s, kLeastSeconds, kMostSeconds);
  if (!energy_j) return;
  require("energy_j", "J", *energy_j, kLeastJoules, kMostJoules);
  require("energy_j / time_s", "W", *energy_j / time_s, 0, kMostWatts);
}

}  // namespace ampere

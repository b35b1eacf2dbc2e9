#include "report/results.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "report/numbers.h"

namespace ampere {
namespace {

Json number_at(const JsonReader& r, const std::string& key, const Json& object) {
  if (!object.contains(key) || object.at(key).is_null()) return nullptr;
  return short_number(r.number(key));
}

std::string place(const std::string& path, const std::string& list, std::size_t index) {
  return path + ": " + list + "[" + std::to_string(index) + "]";
}

// Who measured what: in every file of ours.
Json provenance_of(const Json& file, const std::string& path) {
  const JsonReader r(file, path);
  Json out = {{"file", std::filesystem::path(path).filename().string()},
              {"model", r.text("model", "")},
              {"batch", r.integer("batch", 0)},
              {"recipe", r.text("recipe", "")},
              {"mode", r.text("mode", "eager")},
              {"meter", r.text("meter", "")},
              {"modelled", r.boolean("modelled", false)},
              {"date", r.text("date", "")},
              {"device", ""}};
  if (r.has("device")) out["device"] = JsonReader(r.object("device"), path + ": device").text("name", "");
  return out;
}

Json networks_of(const JsonReader& r, const std::string& path, const std::vector<std::string>& methods) {
  Json networks = Json::array();
  const Json& rows = r.array("networks");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const JsonReader n(rows[i], place(path, "networks", i));
    const double energy_j = n.number("energy_j");
    if (!(energy_j > 0)) throw bad_input(n.where() + ": \"energy_j\" must be above zero");
    Json estimates = Json::array();
    const Json& given = n.object("estimates");
    for (const std::string& method : methods) {
      if (!given.contains(method)) {
        estimates.push_back(nullptr);
        continue;
      }
      const JsonReader e(given.at(method), n.where() + ": " + method);
      estimates.push_back({short_number(e.number("energy_j")), number_at(e, "energy_low_j", given.at(method)),
                           number_at(e, "energy_high_j", given.at(method))});
    }
    networks.push_back({{"name", n.text("network")},
                        {"energy_j", short_number(energy_j)},
                        {"flops", number_at(n, "flops", rows[i])},
                        {"time_s", number_at(n, "time_s", rows[i])},
                        {"estimates", estimates}});
  }
  return networks;
}

Json evaluation_of(const Json& file, const std::string& path) {
  const JsonReader r(file, path);
  Json out = provenance_of(file, path);
  std::vector<std::string> names;
  out["methods"] = Json::array();
  for (const auto& [name, figures] : r.object("methods").items()) {
    const JsonReader m(figures, path + ": methods." + name);
    names.push_back(name);
    out["methods"].push_back({{"name", name},
                              {"mape", short_number(m.number("mape"))},
                              {"median", number_at(m, "median", figures)},
                              {"p95", number_at(m, "p95", figures)},
                              {"bias", number_at(m, "bias", figures)},
                              {"coverage", number_at(m, "coverage", figures)}});
  }
  out["networks"] = networks_of(r, path, names);
  out["noise_floor"] = number_at(r, "noise_floor", file);
  out["profiling"] = Json::array();
  if (r.has("profiling")) {
    for (const auto& [name, effort] : r.object("profiling").items()) {
      const JsonReader p(effort, path + ": profiling." + name);
      out["profiling"].push_back(
          {{"method", name},
           {"time_s", number_at(p, "time_s", effort)},
           {"fitting_time_s", number_at(p, "fitting_time_s", effort)},
           {"points", p.integer("points_measured", 0) + p.integer("points_reused", 0)}});
    }
  }
  return out;
}

Json additivity_of(const Json& file, const std::string& path) {
  const JsonReader r(file, path);
  Json out = provenance_of(file, path);
  out["modes"] = Json::array();
  for (const auto& [name, series] : r.object("modes").items()) {
    const JsonReader s(series, path + ": modes." + name);
    const JsonReader fit(s.object("energy_fit"), s.where() + ": energy_fit");
    Json points = Json::array();
    const Json& networks = s.array("networks");
    for (std::size_t i = 0; i < networks.size(); ++i) {
      const JsonReader n(networks[i], place(s.where(), "networks", i));
      points.push_back({short_number(n.number("energy_j")), number_at(n, "energy_spread_j", networks[i])});
    }
    out["modes"].push_back({{"name", name},
                            {"points", points},
                            {"intercept", short_number(fit.number("intercept_j"))},
                            {"slope", short_number(fit.number("per_layer_j"))},
                            {"r2", number_at(fit, "r2", s.object("energy_fit"))}});
  }
  out["phases"] = Json::array();
  if (r.has("phases")) {
    const Json& phases = r.array("phases");
    for (std::size_t i = 0; i < phases.size(); ++i)
      out["phases"].push_back(short_number(JsonReader(phases[i], place(path, "phases", i)).number("sum_j")));
  }
  return out;
}

// Where the curves of a file are, and what their parts are called.
struct CurveNames {
  const char* list;
  const char* network;
  const char* points;
};
constexpr CurveNames kPlain{"curves", "network", "points"};
constexpr CurveNames kTrained{"networks", "label", "curve"};  // as ampere train writes it

Json curves_of(const Json& file, const std::string& path, const CurveNames& names) {
  const JsonReader r(file, path);
  Json out = provenance_of(file, path);
  out["budget_j"] = number_at(r, "budget_j", file);
  out["curves"] = Json::array();
  const Json& curves = r.array(names.list);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const JsonReader c(curves[i], place(path, names.list, i));
    // A budget may be told as a share of what the first network takes.
    if (i == 0 && out["budget_j"].is_null() && file.contains("budget_share") &&
        file["budget_share"].is_number())
      out["budget_j"] = short_number(r.number("budget_share") * c.number("energy_j"));
    Json points = Json::array();
    const Json& rows = c.array(names.points);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const JsonReader p(rows[k], place(c.where(), names.points, k));
      points.push_back({number_at(p, "iteration", rows[k]), short_number(p.number("energy_j")),
                        number_at(p, "test_loss", rows[k]), number_at(p, "test_accuracy", rows[k])});
    }
    out["curves"].push_back({{"network", c.text(names.network)}, {"points", points}});
  }
  return out;
}

// The meter in use and its character, with the device it is of.
Json detected_of(const Json& file, const std::string& path) {
  const JsonReader r(file, path);
  Json out = provenance_of(file, path);
  out["device"] = r.object("device");
  out["meters"] = Json::array();
  const Json& meters = r.array("meters");
  for (std::size_t i = 0; i < meters.size(); ++i) {
    const JsonReader m(meters[i], place(path, "meters", i));
    if (!m.has("character") || !meters[i]["character"].is_object()) continue;
    const Json& c = meters[i]["character"];
    const JsonReader character(c, m.where() + ": character");
    out["meters"].push_back({{"name", m.text("name")},
                             {"scope", m.text("scope", "")},
                             {"description", m.text("description", "")},
                             {"modelled", m.boolean("modelled", false)},
                             {"tick_s", number_at(character, "tick_s", c)},
                             {"read_s", number_at(character, "read_s", c)},
                             {"resolution_j", number_at(character, "resolution_j", c)},
                             {"idle_power_w", number_at(character, "idle_power_w", c)}});
  }
  return out;
}

// What each change is worth, and what else is advised; absent in files of older versions.
Json saving_of(const Json& saved, const std::string& where) {
  const JsonReader r(saved, where);
  return {short_number(r.number("value")), short_number(r.number("low")), short_number(r.number("high"))};
}

void put_reasons(Json& out, const Json& file, const std::string& path) {
  out["steps"] = Json::array();
  out["advice"] = Json::array();
  if (file.contains("steps")) {
    const Json& steps = JsonReader(file, path).array("steps");
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string where = place(path, "steps", i);
      const JsonReader s(steps[i], where);
      out["steps"].push_back({{"change", s.text("change")},
                              {"energy", saving_of(s.object("energy_saved"), where)},
                              {"time", saving_of(s.object("time_saved"), where)}});
    }
  }
  if (file.contains("advice")) {
    const Json& advice = JsonReader(file, path).array("advice");
    for (std::size_t i = 0; i < advice.size(); ++i) {
      const JsonReader a(advice[i], place(path, "advice", i));
      out["advice"].push_back({{"what", a.text("what")}, {"evidence", a.text("evidence")}});
    }
  }
}

// Every setting that was looked at, with the words that a reader knows it by.
Json tuning_of(const Json& file, const std::string& path) {
  const JsonReader r(file, path);
  Json out = provenance_of(file, path);
  out["model"] = r.text("model");
  out["objective"] = r.text("objective");
  out["present"] = r.integer("present");
  out["best"] = r.integer("best");
  out["most_slower"] = number_at(r, "most_slower", file);
  out["deadline_s"] = number_at(r, "deadline_s", file);
  put_reasons(out, file, path);
  out["points"] = Json::array();
  const Json& outcomes = r.array("outcomes");
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const JsonReader o(outcomes[i], place(path, "outcomes", i));
    out["points"].push_back(
        {{"batch", o.integer("batch")},
         {"recipe", o.text("recipe") + (o.boolean("channels_last", false) ? ", channels last" : "")},
         {"power_limit_w", number_at(o, "power_limit_w", outcomes[i])},
         {"clock_mhz", number_at(o, "clock_mhz", outcomes[i])},
         {"energy_j",
          {short_number(o.number("energy_j")), short_number(o.number("energy_low_j")),
           short_number(o.number("energy_high_j"))}},
         {"time_s",
          {short_number(o.number("time_s")), short_number(o.number("time_low_s")),
           short_number(o.number("time_high_s"))}},
         {"on_front", o.boolean("on_front", false)},
         {"allowed", o.boolean("allowed", true)},
         {"measured", o.boolean("measured", false)}});
  }
  for (const char* key : {"present", "best"}) {
    if (out[key] < 0 || out[key] >= outcomes.size())
      throw bad_input(path + ": field \"" + key + "\" names no outcome");
  }
  return out;
}

// False when the file is none that a report shows.
bool add(Results& results, const Json& file, const std::string& path) {
  const auto is = [&](const char* key, Json::value_t type) {
    return file.is_object() && file.contains(key) && file.at(key).type() == type;
  };
  using Type = Json::value_t;
  if (is("methods", Type::object) && is("networks", Type::array))
    results.evaluations.push_back(evaluation_of(file, path));
  else if (is("modes", Type::object))
    results.additivity.push_back(additivity_of(file, path));
  else if (is("curves", Type::array))
    results.curves.push_back(curves_of(file, path, kPlain));
  else if (is("networks", Type::array) && !file["networks"].empty() && file["networks"][0].contains("curve"))
    results.curves.push_back(curves_of(file, path, kTrained));
  else if (is("outcomes", Type::array) && is("objective", Type::string))
    results.tunings.push_back(tuning_of(file, path));
  else if (is("meters", Type::array) && is("device", Type::object))
    results.detected.push_back(detected_of(file, path));
  else
    return false;
  return true;
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json")
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Results read_results(const std::vector<std::string>& paths) {
  Results results;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      throw bad_input(path + ": there is no such file or folder (a MODEL stands before --results)");
    if (!std::filesystem::is_directory(path, error)) {
      if (!add(results, read_json_file(path), path)) {
        throw bad_input(path +
                        ": not a result that a report shows; those of evaluate, additivity, tune and detect "
                        "(--json or --output) and training curves (docs/report.md) are");
      }
      continue;
    }
    try {
      for (const std::string& file : files_of(path)) {
        if (!add(results, read_json_file(file), file)) results.ignored.push_back(file);
      }
    } catch (const std::filesystem::filesystem_error& e) {
      throw bad_input(path + ": cannot be read: " + e.code().message());
    }
  }
  return results;
}

}  // namespace ampere

#include "protocol/messages.h"

#include <algorithm>
#include <cmath>

#include "network/network_json.h"

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

double bounded(const JsonReader& r, const std::string& key, double fallback, double low, double high) {
  const double value = r.number(key, fallback);
  if (!(value >= low && value <= high)) {
    throw bad_input(r.where() + ": field \"" + key + "\" must be between " + Json(low).dump() + " and " +
                    Json(high).dump() + ", found " + Json(value).dump());
  }
  return value;
}

// Refuses 1.5 where a count is meant.
std::int64_t bounded_count(const JsonReader& r, const std::string& key, std::int64_t fallback,
                           std::int64_t low, std::int64_t high) {
  const std::int64_t value = r.integer(key, fallback);
  if (value < low || value > high) {
    throw bad_input(r.where() + ": field \"" + key + "\" must be between " + std::to_string(low) + " and " +
                    std::to_string(high) + ", found " + std::to_string(value));
  }
  return value;
}

void one_of(const JsonReader& r, const std::string& key, const std::string& value,
            const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& k : known) {
    if (k == value) return;
    list += (list.empty() ? "" : ", ") + k;
  }
  throw bad_input(r.where() + ": field \"" + key + "\" must be one of " + list + ", found \"" + value + "\"");
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

const char* to_word(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
    default:
      return "iteration";
  }
}

std::string Recipe::word() const {
  return optimizer + "-" + precision + (autotune ? "-autotune" : "") +
         (deterministic ? "-deterministic" : "") + "-t" + std::to_string(threads);
}

Json to_json(const Recipe& recipe) {
  return {{"optimizer", recipe.optimizer}, {"precision", recipe.precision},
          {"autotune", recipe.autotune},   {"deterministic", recipe.deterministic},
          {"threads", recipe.threads},     {"seed", recipe.seed}};
}

Recipe recipe_from_json(const Json& json) {
  JsonReader r(json, "recipe");
  r.only({"optimizer", "precision", "autotune", "deterministic", "threads", "seed"});
  Recipe recipe;
  recipe.optimizer = r.text("optimizer", recipe.optimizer);
  recipe.precision = r.text("precision", recipe.precision);
  one_of(r, "optimizer", recipe.optimizer, {"sgd", "momentum", "adam"});
  one_of(r, "precision", recipe.precision, {"fp32", "tf32", "bf16"});
  recipe.autotune = r.boolean("autotune", recipe.autotune);
  recipe.deterministic = r.boolean("deterministic", recipe.deterministic);
  recipe.threads = static_cast<int>(bounded_count(r, "threads", recipe.threads, 1, 4096));
  recipe.seed = r.integer("seed", recipe.seed);
  return recipe;
}

Json to_json(const MeasureRequest& m) {
  Json json = {{"network", network_to_json(m.network)},
               {"batch", m.batch},
               {"mode", m.mode == MeasureMode::kReplay ? "replay" : "eager"},
               {"loss", m.loss},
               {"input_grad", m.input_grad},
               {"recipe", to_json(m.recipe)},
               {"meter", m.meter},
               {"target_error", m.target_error},
               {"window_s", m.window_s},
               {"warm_up_s", m.warm_up_s},
               {"budget_s", m.budget_s},
               {"min_windows", m.min_windows}};
  // Said only when they differ from what every worker does anyway.
  if (m.phase != Phase::kIteration) json["phase"] = to_word(m.phase);
  if (!m.energy) json["energy"] = false;
  if (!m.discard_first) json["discard_first"] = false;
  if (m.min_ticks != kTicksPerWindow) json["min_ticks"] = m.min_ticks;
  return json;
}

MeasureRequest measure_request_from_json(const Json& json) {
  JsonReader r(json, "measure");
  r.only({"network", "batch", "mode", "loss", "input_grad", "recipe", "meter", "target_error", "window_s",
          "warm_up_s", "budget_s", "min_windows", "min_ticks", "phase", "energy", "discard_first"});
  MeasureRequest m;
  m.network = network_from_json(r.object("network"), "network");
  m.batch = r.integer("batch");
  const std::string mode = r.text("mode", "eager");
  one_of(r, "mode", mode, {"eager", "replay"});
  m.mode = mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
  const std::string phase = r.text("phase", "iteration");
  one_of(r, "phase", phase, {"iteration", "forward", "backward", "update"});
  for (Phase p : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    if (phase == to_word(p)) m.phase = p;
  }
  m.energy = r.boolean("energy", m.energy);
  m.discard_first = r.boolean("discard_first", m.discard_first);
  m.loss = r.boolean("loss", m.loss);
  m.input_grad = r.boolean("input_grad", m.input_grad);
  if (r.has("recipe")) m.recipe = recipe_from_json(r.object("recipe"));
  m.meter = r.text("meter", "");
  m.target_error = bounded(r, "target_error", m.target_error, 1e-6, 1);
  m.window_s = bounded(r, "window_s", m.window_s, 1e-3, 600);
  m.warm_up_s = bounded(r, "warm_up_s", m.warm_up_s, 0, 600);
  m.budget_s = bounded(r, "budget_s", m.budget_s, 1e-3, 3600);
  m.min_windows = static_cast<int>(bounded_count(r, "min_windows", m.min_windows, 1, 1000));
  m.min_ticks = static_cast<int>(bounded_count(r, "min_ticks", m.min_ticks, 1, 1000));
  return m;
}

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
  if (!m.kernels.empty()) json["kernels"] = m.kernels;
  return json;
}

Measurement measurement_from_json(const Json& json) {
  JsonReader r(json, "measurement");
  Measurement m;
  m.energy_j = optional_number(r, "energy_j", json);
  m.time_s = r.number("time_s");
  m.energy_error = bounded(r, "energy_error", 0, 0, 1e6);
  m.time_error = bounded(r, "time_error", 0, 0, 1e6);
  m.host_s = optional_number(r, "host_s", json);
  m.windows = static_cast<int>(bounded_count(r, "windows", 0, 0, 1000000000));
  m.outliers = static_cast<int>(bounded_count(r, "outliers", 0, 0, 1000000000));
  m.iterations = bounded_count(r, "iterations", 0, 0, INT64_MAX);
  m.stable = r.boolean("stable", false);
  m.modelled = r.boolean("modelled", false);
  m.metering_overhead = optional_number(r, "metering_overhead", json);
  m.discrepancy = optional_number(r, "discrepancy", json);
  m.meter = r.text("meter", "");
  m.mode = r.text("mode", "eager");
  m.note = r.text("note", "");
  if (r.has("kernels")) m.kernels = kernel_names(r);
  m.before = state_from_json(r, "before");
  m.after = state_from_json(r, "after");
  auto possible = [](double v) { return std::isfinite(v) && v > 0; };
  if (!possible(m.time_s) || (m.energy_j && !possible(*m.energy_j)) || (m.host_s && !possible(*m.host_s))) {
    throw bad_input("measurement: energy, time and host time per iteration must be positive, found " +
                    json.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  return m;
}

Request request_from_line(const std::string& line) {
  const Json json = parse_json(line, "request");
  JsonReader r(json, "request");
  r.only({"id", "verb", "params"});
  Request request{r.integer("id"), r.text("verb"), Json::object()};
  if (r.has("params")) request.params = r.object("params");
  return request;
}

namespace {

// Replaces bytes that are not UTF-8 instead of throwing: an error message may quote anything.
std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string to_line(const Request& request) {
  return line_of({{"id", request.id}, {"verb", request.verb}, {"params", request.params}});
}

std::string result_line(std::int64_t id, const Json& result) {
  return line_of({{"id", id}, {"ok", true}, {"result", result}});
}

std::string error_line(std::int64_t id, const Error& error) {
  return line_of(
      {{"id", id}, {"ok", false}, {"error", {{"kind", to_word(error.kind())}, {"message", error.what()}}}});
}

Response response_from_line(const std::string& line) {
  const Json json = parse_json(line, "response");
  JsonReader r(json, "response");
  Response response{r.integer("id"), Json::object(), std::nullopt};
  if (r.boolean("ok")) {
    response.result = r.object("result");
  } else {
    const JsonReader error(r.object("error"), "error");
    response.error = Error(error_kind_from_word(error.text("kind")), error.text("message"));
  }
  return response;
}

}  // namespace ampere

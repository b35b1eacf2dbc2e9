#include "model/data_sheet.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/capped.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/plain_text.h"

AMPERE_EMBEDDED(devices, AMPERE_DEVICES)

namespace ampere {
namespace {

// No data sheet tells what starting a kernel takes (1.6 us on an H200), and few what a device draws while it
// waits for its host: of its limit 0.17 (H200), 0.14 (P100), 0.15 (V100), 0.27 (RTX 6000), 0.30 (A40;
// results/zeus.md).
constexpr double kLaunch = 2e-6;
constexpr double kLaunchOfProcessor = 3e-6;
constexpr double kIdleShare = 0.2;
// What a step as such does, before any host was seen to.
constexpr double kBelievedStep = 0.4e-3;
// Of its peaks a device reaches this much before calls differ; with it, recorded parts of an H200 take on
// average what is believed.
constexpr double kWithinReach = 0.75;

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kLongestFile = 1 << 20;

struct Bounds {
  double low, high;
  const char* unit;
};
constexpr Bounds kFlops{1e8, 1e18, "FLOP/s: 67 TFLOP/s are 67e12"};
constexpr Bounds kBytes{1e7, 1e15, "bytes/s: 900 GB/s are 900e9"};
constexpr Bounds kMemory{1e8, 1e13, "bytes: 80 GB are 8e10"};
constexpr Bounds kSeconds{1e-9, 1e-2, "seconds: 2 us are 2e-6"};
constexpr Bounds kWatts{0.1, 1e5, "watts"};

double figure(const JsonReader& r, const std::string& key, const Bounds& bounds) {
  const double value = r.number(key);
  if (value >= bounds.low && value <= bounds.high) return value;
  char range[80];
  std::snprintf(range, sizeof range, "%g to %g, found %g", bounds.low, bounds.high, value);
  throw bad_input(r.where() + ": field \"" + key + "\" must be " + range + "; it is in " + bounds.unit);
}

std::string short_text(const JsonReader& r, const std::string& key) {
  std::string text = r.text(key);
  if (text.empty() || text.size() > kLongestName)
    throw bad_input(r.where() + ": field \"" + key + "\" must have 1 to " + std::to_string(kLongestName) +
                    " characters");
  return plain_line(text);
}

std::vector<std::string> driver_names_of(const JsonReader& r) {
  std::vector<std::string> names;
  if (!r.has("driver_names")) return names;
  for (const Json& name : r.array("driver_names")) {
    if (!name.is_string()) throw bad_input(r.where() + ": field \"driver_names\" must be a list of texts");
    names.push_back(name.get<std::string>());
  }
  return names;
}

const std::map<std::string, DataSheet>& table() {
  static const std::map<std::string, DataSheet> kTable = [] {
    std::map<std::string, DataSheet> sheets;
    const Json json = parse_json(std::string(embedded_devices()), "data/devices.json");
    for (const auto& [key, sheet] : json.items())
      sheets.emplace(key, data_sheet_from(sheet, "data/devices.json: " + key));
    return sheets;
  }();
  return kTable;
}

std::string in_small_letters(std::string text) {
  for (char& c : text)
    c = c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

double DataSheet::step_host_s() const { return accelerator ? kBelievedStep : 0; }

Roof DataSheet::roof() const {
  Roof reached = peak;
  for (double& flops : reached.flops_per_s) flops *= kWithinReach;
  reached.bytes_per_s *= kWithinReach;
  return reached;
}

DataSheet data_sheet_from(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  r.only({"name", "type", "driver_names", "float32_flops_per_s", "tensor_float32_flops_per_s",
          "half_flops_per_s", "bytes_per_s", "launch_s", "idle_w", "limit_w", "memory_bytes", "source"});
  DataSheet sheet;
  sheet.name = short_text(r, "name");
  const std::string type = r.text("type", "cuda");
  r.require_one_of("type", type, {"cuda", "cpu"});
  sheet.accelerator = type == "cuda";
  const double float32 = figure(r, "float32_flops_per_s", kFlops);
  // A device without units for it computes TF32 as float32, and half precision no slower than that.
  const double tensor =
      r.has("tensor_float32_flops_per_s") ? figure(r, "tensor_float32_flops_per_s", kFlops) : float32;
  const double half = r.has("half_flops_per_s") ? figure(r, "half_flops_per_s", kFlops) : tensor;
  const double launch = sheet.accelerator ? kLaunch : kLaunchOfProcessor;
  sheet.peak = {{float32, tensor, half},
                figure(r, "bytes_per_s", kBytes),
                r.has("launch_s") ? figure(r, "launch_s", kSeconds) : launch};
  sheet.limit_w = figure(r, "limit_w", kWatts);
  sheet.idle_w = kIdleShare * sheet.limit_w;
  if (r.has("idle_w")) {
    sheet.idle_w = r.number("idle_w");
    if (!(sheet.idle_w >= 0 && sheet.idle_w < sheet.limit_w))
      throw bad_input(where + ": field \"idle_w\" must be 0 or more, and less than \"limit_w\"");
  }
  if (r.has("memory_bytes")) sheet.memory_bytes = figure(r, "memory_bytes", kMemory);
  sheet.source = short_text(r, "source");
  sheet.driver_names = driver_names_of(r);
  return sheet;
}

Json to_json(const DataSheet& s) {
  Json json = {{"name", s.name},
               {"type", s.accelerator ? "cuda" : "cpu"},
               {"driver_names", s.driver_names},
               {"float32_flops_per_s", s.peak.flops_per_s[0]},
               {"tensor_float32_flops_per_s", s.peak.flops_per_s[1]},
               {"half_flops_per_s", s.peak.flops_per_s[2]},
               {"bytes_per_s", s.peak.bytes_per_s},
               {"launch_s", s.peak.launch_s},
               {"idle_w", s.idle_w},
               {"limit_w", s.limit_w},
               {"source", s.source}};
  if (s.memory_bytes > 0) json["memory_bytes"] = s.memory_bytes;
  return json;
}

std::vector<std::string> data_sheet_names() {
  std::vector<std::string> names;
  for (const auto& [name, sheet] : table()) names.push_back(name);
  return names;
}

DataSheet find_data_sheet(const std::string& name_or_path) {
  const auto known = table().find(in_small_letters(name_or_path));
  if (known != table().end()) return known->second;
  std::error_code unknown;
  if (std::filesystem::is_regular_file(name_or_path, unknown)) {
    if (std::filesystem::file_size(name_or_path, unknown) > kLongestFile)
      throw bad_input(name_or_path +
                      ": too long for a data sheet; data/devices.json shows how one is written");
    return data_sheet_from(read_json_file(name_or_path), name_or_path);
  }
  std::string names;
  for (const std::string& name : data_sheet_names()) names += (names.empty() ? "" : ", ") + name;
  throw bad_input("no data sheet of \"" + capped(name_or_path) +
                  "\" is known, and there is no such file; known: " + names +
                  "; or name a JSON file with one sheet, as docs/one_model.md shows");
}

std::optional<DataSheet> data_sheet_of_device(const std::string& driver_name) {
  for (const auto& [key, sheet] : table()) {
    const auto& names = sheet.driver_names;
    if (std::find(names.begin(), names.end(), driver_name) != names.end()) return sheet;
  }
  return std::nullopt;
}

}  // namespace ampere

#include "meter/open.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "meter/battery_meter.h"
#include "meter/combined_meter.h"
#include "meter/cpu_model_meter.h"
#include "meter/external_meter.h"
#include "meter/hwmon_meter.h"
#include "meter/nvml_meter.h"
#include "meter/rapl_meter.h"
#include "meter/rapl_perf_meter.h"
#include "meter/replay_meter.h"
#include "meter/sampled_window.h"
#include "meter/sysfs.h"

namespace ampere {
namespace {

enum class Argument { kNone, kOptional, kRequired };

struct MeterKind {
  MeterInfo info;       // as far as it is known without opening it
  Argument argument;    // what may follow the name after a colon
  const char* usage;    // how it is written
  bool may_be_default;  // found without being asked for
  std::unique_ptr<Meter> (*open)(const std::string& argument);
};

std::unique_ptr<Meter> open_hwmon() {
  HwmonOptions options;
  if (const char* rails = std::getenv("AMPERE_JETSON_RAILS")) options.rails = rails;
  return make_hwmon_meter(sysfs_root(), options);
}

// The one table of meters, the most trusted first. A new meter is a new file and one entry here.
const std::vector<MeterKind>& meter_kinds() {
  using Text = const std::string&;
  static const std::vector<MeterKind> kinds = {
      {{"nvml", "gpu", false, "energy counter of NVIDIA GPUs"},
       Argument::kOptional,
       "nvml[:GPU,...]",
       true,
       [](Text gpus) { return make_nvml_meter(gpus); }},
      {{"hwmon", "module", false, "INA power monitors of a Jetson or similar board"},
       Argument::kNone,
       "hwmon",
       true,
       [](Text) { return open_hwmon(); }},
      {{"rapl", "package", false, "RAPL counters of the CPU through powercap"},
       Argument::kNone,
       "rapl",
       true,
       [](Text) { return make_rapl_meter(sysfs_root()); }},
      {{"rapl-perf", "package", false, "RAPL counters of the CPU through perf events"},
       Argument::kNone,
       "rapl-perf",
       true,
       [](Text) { return make_rapl_perf_meter(sysfs_root(), kernel_perf_calls()); }},
      {{"cpu-model", "process", true, "CPU time of this process times watts per busy core"},
       Argument::kNone,
       "cpu-model",
       true,
       [](Text) { return make_cpu_model_meter(cpu_watts_from_environment()); }},
      {{"battery", "battery", false, "charge taken out of the battery"},
       Argument::kNone,
       "battery",
       false,
       [](Text) { return make_battery_meter(sysfs_root(), {}); }},
      {{"exec", "board", false, "watts or joules printed by a command"},
       Argument::kRequired,
       "exec:COMMAND",
       false,
       [](Text command) { return make_exec_meter(command); }},
      {{"log", "board", false, "watts or joules appended to a file"},
       Argument::kRequired,
       "log:PATH",
       false,
       [](Text path) { return make_log_meter(path); }},
      {{"replay", "any", false, "readings recorded earlier, from a JSON-lines file"},
       Argument::kRequired,
       "replay:PATH",
       false,
       [](Text path) -> std::unique_ptr<Meter> { return std::make_unique<ReplayMeter>(path); }},
  };
  return kinds;
}

std::string known_meters() {
  std::string list;
  for (const MeterKind& kind : meter_kinds()) list += (list.empty() ? "" : ", ") + std::string(kind.usage);
  return list;
}

const MeterKind& kind_called(const std::string& word) {
  for (const MeterKind& kind : meter_kinds()) {
    if (kind.info.name == word) return kind;
  }
  throw bad_input("no meter is called '" + word + "'; known: " + known_meters() +
                  "; joined with + where they differ");
}

// Takes the first meter off `names` ("nvml:0+rapl") and opens it. What must be given an argument takes all
// the rest, since a command may contain a plus sign itself.
std::unique_ptr<Meter> open_first(std::string& names) {
  const std::string word = names.substr(0, names.find_first_of(":+"));
  const MeterKind& kind = kind_called(word);
  const std::size_t end = kind.argument == Argument::kRequired ? std::string::npos : names.find('+');
  const std::string name = names.substr(0, end);
  names = end == std::string::npos ? "" : names.substr(end + 1);
  const std::size_t colon = name.find(':');
  const std::string argument = colon == std::string::npos ? "" : name.substr(colon + 1);
  const bool wrong = (kind.argument == Argument::kNone && colon != std::string::npos) ||
                     (kind.argument == Argument::kRequired && argument.empty());
  if (wrong) throw bad_input("meter '" + name + "' is written " + kind.usage);
  if (end != std::string::npos && names.empty()) throw bad_input("a meter is missing after the +");
  return kind.open(argument);
}

std::unique_ptr<Meter> open_named(std::string names) {
  std::vector<std::unique_ptr<Meter>> meters;
  do {
    meters.push_back(open_first(names));
  } while (!names.empty());
  if (meters.size() == 1) return std::move(meters.front());
  return make_combined_meter(std::move(meters));
}

MeterStatus status_of(const MeterKind& kind) {
  if (kind.argument == Argument::kRequired) {
    return {kind.info, false, std::string("name it with its argument: --meter ") + kind.usage, {}};
  }
  try {
    const std::unique_ptr<Meter> meter = kind.open("");
    return {meter->info(), true, "", sample_spacing(*meter)};
  } catch (const Error& error) {
    return {kind.info, false, error.what(), {}};
  }
}

}  // namespace

std::unique_ptr<Meter> open_meter(const std::string& name) {
  if (!name.empty()) return open_named(name);
  const char* chosen = std::getenv("AMPERE_METER");
  return open_named(chosen != nullptr && *chosen != '\0' ? chosen : default_meter_name());
}

bool same_meter(const std::string& asked, const std::string& told) {
  const std::string word_told = told.substr(0, told.find(':'));
  std::string words;
  for (std::size_t at = 0; at <= asked.size();) {
    const std::size_t end = std::min(asked.find('+', at), asked.size());
    const std::string part = asked.substr(at, end - at);
    const std::size_t colon = part.find(':');
    words += (words.empty() ? "" : "+") + part.substr(0, colon);
    if (part.rfind("replay:", 0) == 0) return true;
    // A command may contain a plus sign itself.
    if (colon != std::string::npos && word_told == words) return true;
    at = end + 1;
  }
  return asked == told || words == told;
}

std::vector<MeterStatus> list_meters() {
  std::vector<MeterStatus> list;
  for (const MeterKind& kind : meter_kinds()) list.push_back(status_of(kind));
  return list;
}

std::string default_meter_name() {
  for (const MeterKind& kind : meter_kinds()) {
    if (kind.may_be_default && status_of(kind).available) return kind.info.name;
  }
  return "cpu-model";
}

}  // namespace ampere

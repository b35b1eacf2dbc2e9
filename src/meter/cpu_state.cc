#include "meter/cpu_state.h"

#include <algorithm>
#include <cctype>

#include "meter/sysfs.h"

namespace ampere {
namespace {

void raise_to(std::optional<double>& highest, double value) {
  highest = highest ? std::max(*highest, value) : value;
}

// "x86_pkg_temp" on Intel, "cpu-thermal", "CPU-therm" or "cpu0-thermal" on boards.
bool is_cpu_zone(std::string type) {
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type == "x86_pkg_temp" || type.rfind("cpu", 0) == 0 || type.rfind("soc", 0) == 0;
}

}  // namespace

DeviceState cpu_state(const std::filesystem::path& root) {
  DeviceState state;
  for (const auto& zone : entries_of(root / "class/thermal")) {
    const auto millidegrees = read_number(zone / "temp");
    if (millidegrees && is_cpu_zone(read_text(zone / "type").value_or(""))) {
      raise_to(state.temperature_c, *millidegrees / 1000);
    }
  }
  for (const auto& cpu : entries_of(root / "devices/system/cpu")) {
    const auto kilohertz = read_number(cpu / "cpufreq/scaling_cur_freq");
    if (kilohertz) raise_to(state.clock_mhz, *kilohertz / 1000);
  }
  for (const auto& zone : entries_of(root / "class/powercap")) {
    const auto limit_uw = read_number(zone / "constraint_0_power_limit_uw");
    const bool package = read_text(zone / "name").value_or("").rfind("package", 0) == 0;
    if (!limit_uw || !package || zone.filename().string().rfind("intel-rapl:", 0) != 0) continue;
    state.power_limit = state.power_limit.value_or(Watts(0)) + Watts(1e-6 * *limit_uw);
  }
  return state;
}

}  // namespace ampere

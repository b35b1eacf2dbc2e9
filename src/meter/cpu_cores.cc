#include "meter/cpu_cores.h"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "meter/sysfs.h"

namespace ampere {
namespace {

// Of a folder "cpu7"; -1 for "cpufreq" and the like.
int number_of(const std::string& folder) {
  if (folder.rfind("cpu", 0) != 0 || folder.size() < 4 || folder.size() > 8) return -1;
  const std::string digits = folder.substr(3);
  const bool all = std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
  return all ? std::stoi(digits) : -1;
}

}  // namespace

CpuCores cpu_cores(const std::filesystem::path& root, const std::vector<int>& allowed) {
  std::map<std::pair<long, long>, int, std::greater<>> kinds;  // by clock and capacity
  std::set<std::string> governors;
  for (const auto& folder : entries_of(root / "devices/system/cpu")) {
    const int number = number_of(folder.filename().string());
    if (number < 0) continue;
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), number) == allowed.end()) continue;
    const auto kilohertz = read_number(folder / "cpufreq/cpuinfo_max_freq");
    const auto capacity = read_number(folder / "cpu_capacity");
    if (kilohertz || capacity)
      ++kinds[{std::lround(kilohertz.value_or(0) / 1000), std::lround(capacity.value_or(0))}];
    const std::string governor = read_text(folder / "cpufreq/scaling_governor").value_or("");
    if (!governor.empty()) governors.insert(governor);
  }
  CpuCores cores;
  for (const auto& [kind, count] : kinds) {
    const auto& [megahertz, capacity] = kind;
    cores.kinds += (cores.kinds.empty() ? "" : ", ") + std::to_string(count) + "x";
    if (megahertz > 0) cores.kinds += " " + std::to_string(megahertz) + " MHz";
    if (capacity > 0) cores.kinds += " capacity " + std::to_string(capacity);
  }
  for (const std::string& governor : governors)
    cores.governor += (cores.governor.empty() ? "" : ", ") + governor;
  return cores;
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cores.push_back(i);
  }
  return cores;
}

}  // namespace ampere

// Which cores a program may run on, and who sets their clocks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ampere {

struct CpuCores {
  // Alike cores together, the strongest first: "2x 2850 MHz, 2x 2350 MHz, 4x 1803 MHz", with their capacity
  // where the kernel tells one. Empty: it tells nothing of cores.
  std::string kinds;
  // Of their clocks: "schedutil"; several where clusters differ. Empty where nothing governs them.
  std::string governor;
};

// As far as the kernel tells under `root` (see sysfs_root); of these cores, or of all where none is named.
CpuCores cpu_cores(const std::filesystem::path& root, const std::vector<int>& allowed = {});
// That this process may run on.
std::vector<int> allowed_cores();

}  // namespace ampere

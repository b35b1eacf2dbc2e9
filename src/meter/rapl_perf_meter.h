// RAPL through perf events: the same counters as rapl, 64 bits wide, with another permission.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "meter/meter.h"

namespace ampere {

// The two system calls, so that tests can stand in for the kernel.
struct PerfCalls {
  // A descriptor, or -errno.
  std::function<int(std::uint32_t type, std::uint64_t config, int cpu)> open;
  // The counter behind a descriptor, absent when it cannot be read.
  std::function<std::optional<std::uint64_t>(int descriptor)> value;
  std::function<void(int descriptor)> close;
};
PerfCalls kernel_perf_calls();

// Adds up energy-pkg and, where there is one, energy-ram of every socket under
// `root`/bus/event_source/devices/power. Throws Error{kNoMeter} with the reason and the fix.
std::unique_ptr<Meter> make_rapl_perf_meter(const std::filesystem::path& root, PerfCalls calls);

}  // namespace ampere

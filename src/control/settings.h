// Power limits and clocks of this machine's devices: what is wanted, whether it can be, and making it so.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/undo.h"

namespace ampere {

struct WantedSettings {
  std::string gpus = {};  // "0,1" among those CUDA_VISIBLE_DEVICES leaves; empty: all of them
  std::optional<double> power_limit_w = {};  // of each GPU
  std::optional<double> clock_mhz = {};      // that each GPU's processors are locked to
  std::optional<double> cpu_clock_mhz = {};  // most that each CPU may run at (cpufreq)

  bool of_gpus() const { return power_limit_w || clock_mhz; }
  bool any() const { return of_gpus() || cpu_clock_mhz; }
};

struct Change {
  std::string device;            // "GPU 0 (NVIDIA H200)", "all CPUs"
  std::string what;              // "power limit", "locked clock", "highest clock"
  std::string unit;              // "W", "MHz"
  std::optional<double> before;  // absent: the driver does not tell
  double now = 0;
};

struct AppliedSettings {
  std::vector<Change> changes;
  std::shared_ptr<const Nvml> driver;  // some forget limits when nobody holds them open
};

// Checks all that is wanted before anything is changed: throws Error{kBadInput} for what the device cannot be
// set to, with the range, and Error{kNoMeter} where there is no driver. Every change is promised before it is
// made (guardian.h). Where that is not permitted it throws Error{kFailed} with the exact command for an
// administrator.
AppliedSettings apply_settings(const WantedSettings& wanted, const std::function<void(const Undo&)>& promise);

}  // namespace ampere

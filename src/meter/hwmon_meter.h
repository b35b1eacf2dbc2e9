// Energy of a board with INA power monitors (Jetson): power of its rails, integrated.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "meter/meter.h"

namespace ampere {

struct HwmonOptions {
  std::string rails;     // names to add up, separated by commas; empty: the board's total (see choose_rails)
  Seconds period{0.05};  // between samples; 0: only when read
  Clock clock = now;
};

// Throws Error{kNoMeter} without power monitors, Error{kBadInput} for rails that are not there.
std::unique_ptr<Meter> make_hwmon_meter(const std::filesystem::path& root, const HwmonOptions& options);

}  // namespace ampere

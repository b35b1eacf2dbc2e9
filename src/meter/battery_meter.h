// Energy taken out of a laptop's or phone's battery.
#pragma once

#include <filesystem>
#include <memory>

#include "meter/meter.h"

namespace ampere {

struct BatteryOptions {
  Seconds period{0.5};  // between samples where only power is known; 0: only when read
  Clock clock = now;
};

// All system batteries under `root`/class/power_supply, added up. Uses energy_now; else charge_now times
// voltage_now; else power_now, or current_now times voltage_now, integrated. Throws Error{kNoMeter} when
// there is no battery or it is not discharging, also when that happens later: on the mains its counter tells
// nothing about the work.
std::unique_ptr<Meter> make_battery_meter(const std::filesystem::path& root, const BatteryOptions& options);

}  // namespace ampere

// A meter for tests: it reads what the test says.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "meter/meter.h"

namespace ampere {

class ScriptedMeter : public Meter {
 public:
  // Each read calls `next`.
  explicit ScriptedMeter(std::function<Reading()> next, std::string scope = "board")
      : info_{"scripted", std::move(scope), false, "readings from a test"}, next_(std::move(next)) {}

  // Plays the list once, then fails as a meter that has disappeared.
  explicit ScriptedMeter(std::vector<Reading> readings)
      : ScriptedMeter([list = std::move(readings), at = std::size_t{0}]() mutable {
          if (at >= list.size()) throw Error(ErrorKind::kNoMeter, "scripted meter: no readings left");
          return list[at++];
        }) {}

  const MeterInfo& info() const override { return info_; }
  Reading read() override { return next_(); }
  std::optional<Watts> power() override { return power_ ? power_() : std::nullopt; }
  std::vector<PowerSample> samples() override { return samples_ ? samples_() : std::vector<PowerSample>{}; }
  DeviceState state() override { return state_; }

  void set_power(std::function<std::optional<Watts>()> power) { power_ = std::move(power); }
  void set_samples(std::function<std::vector<PowerSample>()> samples) { samples_ = std::move(samples); }
  void set_state(DeviceState state) { state_ = std::move(state); }

 private:
  MeterInfo info_;
  std::function<Reading()> next_;
  std::function<std::optional<Watts>()> power_;
  std::function<std::vector<PowerSample>()> samples_;
  DeviceState state_;
};

}  // namespace ampere

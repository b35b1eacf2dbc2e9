#include "meter/combined_meter.h"

#include <algorithm>

#include "base/error.h"
#include "meter/lockstep.h"

namespace ampere {
namespace {

bool overlap(const std::string& a, const std::string& b) {
  const auto pair_is = [&](const char* x, const char* y) { return (a == x && b == y) || (a == y && b == x); };
  return !pair_is("gpu", "package") && !pair_is("gpu", "process");
}

class CombinedMeter : public Meter {
 public:
  explicit CombinedMeter(std::vector<std::unique_ptr<Meter>> parts) : parts_(std::move(parts)) {
    for (const auto& part : parts_) {
      const MeterInfo& told = part->info();
      const auto join = [&](std::string& list, const char* between, const std::string& word) {
        list += (list.empty() ? "" : between) + word;
      };
      join(info_.name, "+", told.name);
      join(info_.scope, "+", told.scope);
      join(info_.description, "; ", told.description);
      info_.modelled = info_.modelled || told.modelled;
    }
  }
  const MeterInfo& info() const override { return info_; }
  Reading read() override {
    std::vector<Joules> energies;
    Seconds at;
    for (const auto& part : parts_) {
      const Reading reading = part->read();
      energies.push_back(reading.energy);
      at += reading.at / static_cast<double>(parts_.size());
    }
    return {sum_.add_up(energies), at};
  }
  std::optional<Watts> power() override {
    Watts sum;
    for (const auto& part : parts_) {
      const auto power = part->power();
      if (!power) return std::nullopt;
      sum += *power;
    }
    return sum;
  }
  DeviceState state() override {
    std::vector<DeviceState> states;
    for (const auto& part : parts_) states.push_back(part->state());
    return merge_states(states);
  }

 private:
  std::vector<std::unique_ptr<Meter>> parts_;
  MeterInfo info_;
  Lockstep sum_;
};

}  // namespace

std::unique_ptr<Meter> make_combined_meter(std::vector<std::unique_ptr<Meter>> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const MeterInfo& a = parts[j]->info();
      const MeterInfo& b = parts[i]->info();
      if (!overlap(a.scope, b.scope)) continue;
      throw bad_input("meters " + a.name + " (" + a.scope + ") and " + b.name + " (" + b.scope +
                      ") would count the same energy twice; combine a gpu with a package or a process" +
                      (a.scope == "gpu" && b.scope == "gpu" ? ", and write several GPUs as nvml:0,1" : ""));
    }
  }
  return std::make_unique<CombinedMeter>(std::move(parts));
}

DeviceState merge_states(const std::vector<DeviceState>& states) {
  DeviceState merged;
  for (const DeviceState& state : states) {
    if (state.temperature_c) {
      merged.temperature_c =
          std::max(merged.temperature_c.value_or(*state.temperature_c), *state.temperature_c);
    }
    if (state.clock_mhz)
      merged.clock_mhz = std::min(merged.clock_mhz.value_or(*state.clock_mhz), *state.clock_mhz);
    if (state.power_limit) merged.power_limit = merged.power_limit.value_or(Watts(0)) + *state.power_limit;
    for (const std::string& reason : state.throttle) {
      if (std::find(merged.throttle.begin(), merged.throttle.end(), reason) == merged.throttle.end()) {
        merged.throttle.push_back(reason);
      }
    }
  }
  return merged;
}

}  // namespace ampere

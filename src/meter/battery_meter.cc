#include "meter/battery_meter.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "meter/cpu_state.h"
#include "meter/power_integrator.h"
#include "meter/sysfs.h"

namespace ampere {
namespace {

namespace fs = std::filesystem;

constexpr double kJoulesPerMicrowattHour = 3600e-6;

double number_in(const fs::path& file) {
  const auto value = read_number(file);
  if (!value) no_meter("meter battery", file.string() + " can no longer be read; was the battery taken out?");
  return *value;
}

void check_discharging(const fs::path& battery) {
  const std::string status = read_text(battery / "status").value_or("");
  if (status == "Discharging") return;
  no_meter("meter battery", battery.filename().string() + " is " +
                                (status.empty() ? "gone" : "'" + status + "'") +
                                ", not 'Discharging'. Unplug the power supply and try again");
}

enum class Source { kEnergy, kCharge, kPower, kCurrent };

// One battery: what it has given since it was first read.
class Battery {
 public:
  Battery(const fs::path& folder, const BatteryOptions& options) : folder_(folder) {
    check_discharging(folder_);
    if (fs::exists(folder / "energy_now")) {
      source_ = Source::kEnergy;
      last_ = number_in(folder / "energy_now");
    } else if (fs::exists(folder / "charge_now") && fs::exists(folder / "voltage_now")) {
      source_ = Source::kCharge;
      last_ = number_in(folder / "charge_now");
    } else {
      source_ = fs::exists(folder / "power_now") ? Source::kPower : Source::kCurrent;
      integral_ =
          std::make_unique<PowerIntegrator>([this] { return power_now(); }, options.period, options.clock);
    }
  }

  Joules given() {
    check_discharging(folder_);
    if (integral_) return integral_->read().energy;
    const bool charge = source_ == Source::kCharge;
    const double value = number_in(folder_ / (charge ? "charge_now" : "energy_now"));
    // The gauge corrects itself upwards now and then: nothing was given then.
    const double taken = std::max(0.0, last_ - value);
    last_ = value;
    const double volts = charge ? 1e-6 * number_in(folder_ / "voltage_now") : 1;
    return given_ += Joules(taken * kJoulesPerMicrowattHour * volts);
  }

  std::string description() const {
    const char* how[] = {"energy_now", "charge_now x voltage_now", "power_now, integrated",
                         "current_now x voltage_now, integrated"};
    return folder_.filename().string() + ": " + how[static_cast<int>(source_)];
  }

 private:
  Watts power_now() const {
    check_discharging(folder_);
    if (source_ == Source::kPower) return Watts(1e-6 * std::abs(number_in(folder_ / "power_now")));
    // Drivers disagree about the sign of a discharging current.
    return Watts(1e-12 * std::abs(number_in(folder_ / "current_now")) * number_in(folder_ / "voltage_now"));
  }

  fs::path folder_;
  Source source_;
  double last_ = 0;
  Joules given_;
  std::unique_ptr<PowerIntegrator> integral_;
};

class BatteryMeter : public Meter {
 public:
  BatteryMeter(const fs::path& root, const BatteryOptions& options) : root_(root), clock_(options.clock) {
    std::string list;
    for (const fs::path& folder : entries_of(root / "class/power_supply")) {
      // Mice and keyboards have batteries of scope Device; theirs is not the computer's.
      if (read_text(folder / "type") != "Battery" || read_text(folder / "scope") == "Device") continue;
      batteries_.push_back(std::make_unique<Battery>(folder, options));
      list += (list.empty() ? "" : "; ") + batteries_.back()->description();
    }
    if (batteries_.empty())
      no_meter("meter battery", "no battery under " + (root / "class/power_supply").string());
    info_ = {"battery", "battery", false, list};
  }
  const MeterInfo& info() const override { return info_; }
  Reading read() override {
    Reading reading{Joules(0), clock_()};
    for (const auto& battery : batteries_) reading.energy += battery->given();
    return reading;
  }
  DeviceState state() override { return cpu_state(root_); }

 private:
  fs::path root_;
  Clock clock_;
  MeterInfo info_;
  std::vector<std::unique_ptr<Battery>> batteries_;
};

}  // namespace

std::unique_ptr<Meter> make_battery_meter(const fs::path& root, const BatteryOptions& options) {
  return std::make_unique<BatteryMeter>(root, options);
}

}  // namespace ampere

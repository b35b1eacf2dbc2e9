#include "meter/hwmon_meter.h"

#include "meter/cpu_state.h"
#include "meter/hwmon_rails.h"
#include "meter/power_integrator.h"

namespace ampere {
namespace {

class HwmonMeter : public Meter {
 public:
  HwmonMeter(const std::filesystem::path& root, const HwmonOptions& options)
      : root_(root),
        rails_(choose_rails(find_rails(root), options.rails)),
        energy_([this] { return power_now(); }, options.period, options.clock) {
    std::string names;
    for (const Rail& rail : rails_) names += (names.empty() ? "" : " + ") + rail.name;
    info_ = {"hwmon", "module", false, "power of rail " + names + ", integrated"};
  }
  const MeterInfo& info() const override { return info_; }
  Reading read() override { return energy_.read(); }
  DeviceState state() override { return cpu_state(root_); }

 private:
  Watts power_now() const {
    Watts sum;
    for (const Rail& rail : rails_) sum += power_of(rail);
    return sum;
  }

  std::filesystem::path root_;
  std::vector<Rail> rails_;
  MeterInfo info_;
  PowerIntegrator energy_;  // last: its thread uses the rails
};

}  // namespace

std::unique_ptr<Meter> make_hwmon_meter(const std::filesystem::path& root, const HwmonOptions& options) {
  return std::make_unique<HwmonMeter>(root, options);
}

}  // namespace ampere

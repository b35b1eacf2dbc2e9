#include "meter/battery_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "meter/fixture_for_test.h"

namespace ampere {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(BatteryMeter, LeavesOutOtherDevicesBatteries) {
  const Fixture tree("intel_laptop");
  const auto meter = make_battery_meter(tree.root(), {});
  EXPECT_EQ(meter->info().description, "BAT0: energy_now");
}

TEST(BatteryMeter, PrefersChargeToANegativeCurrent) {
  const Fixture tree("phone");
  EXPECT_EQ(make_battery_meter(tree.root(), {})->info().description, "battery: charge_now x voltage_now");
}

TEST(BatteryMeter, RefusesWhenNotDischarging) {
  Fixture tree("intel_laptop");
  const auto meter = make_battery_meter(tree.root(), {});
  for (const char* status : {"Charging", "Full", "Not charging", "Unknown"}) {
    tree.set("class/power_supply/BAT0/status", status);
    EXPECT_THROW(meter->read(), Error) << status;
    try {
      make_battery_meter(tree.root(), {});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kNoMeter);
      EXPECT_THAT(error.what(), HasSubstr("Unplug"));
    }
  }
  EXPECT_THROW(make_battery_meter("/nowhere", {}), Error);
}

TEST(BatteryMeter, AGaugeThatCorrectsItselfUpwardsGivesNothingBack) {
  Fixture tree("intel_laptop");
  const auto meter = make_battery_meter(tree.root(), {});
  tree.set("class/power_supply/BAT0/energy_now", 38210000);
  EXPECT_NEAR(meter->read().energy.value(), 36, 1e-6);
  tree.set("class/power_supply/BAT0/energy_now", 38215000);
  EXPECT_NEAR(meter->read().energy.value(), 36, 1e-6);
  tree.set("class/power_supply/BAT0/energy_now", 38205000);
  EXPECT_NEAR(meter->read().energy.value(), 72, 1e-6);
}

}  // namespace
}  // namespace ampere

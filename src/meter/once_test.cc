#include "meter/once.h"

#include <gtest/gtest.h>

#include "meter/simulation_for_test.h"

namespace ampere {
namespace {

MeteredOnce stretch_of(Simulation& device, std::int64_t iterations, Seconds tick) {
  ScriptedMeter meter = device.meter();
  MeterCharacter character;
  character.tick = tick;
  return meter_once(
      meter, [&] { device.work()(iterations); }, character, device.idle, device.clock());
}

TEST(MeterOnce, AShortStretchIsNotCutAtTicks) {
  for (const double phase : {0.0, 0.013, 0.051, 0.099}) {
    Simulation device;
    device.tick = Seconds(0.1);
    device.read_cost = Seconds(0.002);
    device.pass(Seconds(phase), device.idle);
    const MeteredOnce metered = stretch_of(device, 345, device.tick);  // 1.035 s
    EXPECT_NEAR(metered.energy.value() / (345 * device.per_iteration().value()), 1, 0.003) << phase;
    EXPECT_NEAR(metered.time.value(), 1.035, 1e-6);
  }
}

TEST(MeterOnce, CountersWithoutATickAreReadAtOnce) {
  Simulation device;
  const MeteredOnce metered = stretch_of(device, 10, Seconds(0));
  EXPECT_EQ(device.reads, 2);
  EXPECT_NEAR(metered.energy.value() / (10 * device.per_iteration().value()), 1, 1e-3);
}

TEST(MeterOnce, ACounterThatStandsStillIsNotWaitedForLong) {
  Simulation device;
  device.tick = Seconds(1e6);
  device.read_cost = Seconds(0.002);
  const MeteredOnce metered = stretch_of(device, 10, Seconds(0.1));
  EXPECT_EQ(metered.energy.value(), 0) << "which callers take for not measured";
  EXPECT_LT(device.reads, 400);
}

}  // namespace
}  // namespace ampere

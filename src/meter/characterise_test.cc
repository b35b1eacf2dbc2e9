#include "meter/characterise.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "meter/simulation_for_test.h"

namespace ampere {
namespace {

MeterCharacter watch(Simulation& device) {
  ScriptedMeter meter = device.meter();
  CharacteriseOptions options;
  options.clock = device.clock();
  return characterise(
      meter, [&] { device.work()(1); }, options);
}

TEST(Characterise, FindsTheTickAndTheCostOfASlowCounter) {
  Simulation device;
  device.tick = Seconds(0.1);
  device.read_cost = Seconds(0.004);
  const MeterCharacter character = watch(device);
  EXPECT_TRUE(character.moves);
  EXPECT_FALSE(character.continuous);
  EXPECT_NEAR(character.tick.value(), 0.1, 0.001);
  EXPECT_NEAR(character.read_cost.value(), 0.004, 1e-9);
  EXPECT_GT(character.resolution.value(), 10);  // a tick's worth of some 200 W
  EXPECT_EQ(character.scope, "board");
}

TEST(Characterise, RecognisesACounterWithoutTicks) {
  Simulation device;
  const MeterCharacter character = watch(device);
  EXPECT_TRUE(character.continuous);
  EXPECT_EQ(character.tick.value(), 0);
}

TEST(Characterise, ACounterThatNeverMovesIsAnAnswer) {
  Simulation device;
  ScriptedMeter meter([&] { return Reading{Joules(5), device.time}; });
  CharacteriseOptions options;
  options.clock = device.clock();
  const MeterCharacter character = characterise(
      meter, [&] { device.work()(1); }, options);
  EXPECT_FALSE(character.moves);
  EXPECT_FALSE(character.continuous);
}

TEST(AveragePower, IsThatOfTheStateKept) {
  for (const double tick : {0.0, 0.1}) {
    Simulation device;
    device.tick = Seconds(tick);
    device.read_cost = Seconds(0.004);
    const MeterCharacter character = watch(device);
    ScriptedMeter meter = device.meter();
    const Watts power = average_power(
        meter, [&](Seconds length) { device.pass(length, device.idle); }, Seconds(1), character,
        device.clock());
    EXPECT_NEAR(power.value(), 120, 1.5) << tick;
  }
}

TEST(AveragePower, ACounterThatStandsStillIsAnError) {
  Simulation device;
  ScriptedMeter meter([&] { return Reading{Joules(5), device.time}; });
  EXPECT_THROW(
      average_power(
          meter, [&](Seconds length) { device.pass(length, device.idle); }, Seconds(1), {}, device.clock()),
      Error);
}

}  // namespace
}  // namespace ampere

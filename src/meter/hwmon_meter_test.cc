#include "meter/hwmon_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "meter/fixture_for_test.h"
#include "meter/hwmon_rails.h"

namespace ampere {
namespace {

using testing::HasSubstr;

struct Board {
  const char* tree;
  const char* wanted;
  double watts;
};

TEST(HwmonMeter, EveryBoardsTotal) {
  const Board boards[] = {
      {"jetson_orin_nano", "", 5.04},
      {"jetson_orin_nano", "VDD_CPU_GPU_CV, VDD_SOC", 5.04 * 0.4 + 5.032 * 0.28},
      {"jetson_agx_orin", "", 19 * 0.2 + 19 * 0.1 + 5 * 0.6},
      {"jetson_thor", "", 36.5},
      {"jetson_nano", "", 2.5},
      {"jetson_agx_xavier", "", 0.5 + 0.8 + 1.5 + 0 + 0.4 + 1.9},
  };
  for (const Board& board : boards) {
    const Fixture tree(board.tree);
    Seconds time{0};
    const auto meter = make_hwmon_meter(tree.root(), {board.wanted, Seconds(0), [&] { return time; }});
    time = Seconds(10);
    EXPECT_NEAR(meter->read().energy.value(), 10 * board.watts, 1e-9) << board.tree;
    EXPECT_EQ(meter->info().scope, "module");
  }
}

TEST(HwmonMeter, PowerIsIntegratedAsTrapezoids) {
  Fixture tree("jetson_nano");
  Seconds time{0};
  const auto meter = make_hwmon_meter(tree.root(), {"", Seconds(0), [&] { return time; }});
  tree.set("bus/i2c/drivers/ina3221x/6-0040/iio:device0/in_power0_input", 7500);
  time = Seconds(2);
  EXPECT_NEAR(meter->read().energy.value(), 2 * (2.5 + 7.5) / 2, 1e-9);
}

TEST(HwmonMeter, SamplesBetweenReads) {
  Fixture tree("jetson_nano");
  const auto meter = make_hwmon_meter(tree.root(), {"", Seconds(0.001), now});
  tree.remove("bus");
  // The thread meets the missing file sooner or later; every read after that fails as well.
  EXPECT_THROW(meter->read(), Error);
}

TEST(HwmonMeter, UnknownRailsAndBoardsAreExplained) {
  Fixture tree("jetson_agx_orin");
  EXPECT_THROW(choose_rails(find_rails(tree.root()), "VDD_NOPE"), Error);
  tree.remove("class/hwmon/hwmon3");
  try {
    make_hwmon_meter(tree.root(), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNoMeter);
    EXPECT_THAT(error.what(), HasSubstr("AMPERE_JETSON_RAILS=VDDQ_VDD2_1V8AO"));
  }
  EXPECT_THROW(make_hwmon_meter("/nowhere", {}), Error);
}

}  // namespace
}  // namespace ampere

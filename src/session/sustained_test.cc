#include "session/sustained.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "session/heat.h"

namespace ampere {
namespace {

// Cold for 200 s at 12 W, then slowed down to 8 W, as (power above idle) goes with speed to the power of 2.
std::vector<WarmSample> warm_run() {
  std::vector<WarmSample> run;
  for (int i = 1; i <= 300; ++i) {
    const bool slow = i > 100;
    run.push_back({2.0 * i, slow ? 0.01 * std::sqrt(10.0 / 6.0) : 0.01, slow ? 8.0 : 12.0});
  }
  return run;
}

TEST(Sustained, ALongRunTellsPowerAndSlowdown) {
  const ThermalState s = learn_thermal(warm_run(), 2);
  EXPECT_TRUE(s.slowed);
  EXPECT_NEAR(s.cold_w, 12, 1e-9);
  EXPECT_NEAR(s.sustained_w, 8, 1e-9);
  EXPECT_NEAR(s.slowdown, std::sqrt(10.0 / 6.0), 1e-6);
  EXPECT_NEAR(s.exponent, 2, 1e-6);
  const ThermalState again = thermal_state_from_json(to_json(s));
  EXPECT_EQ(again.exponent, s.exponent);
  EXPECT_EQ(again.slowed, s.slowed);
}

TEST(Sustained, OtherNetworksAreSlowedToTheSamePower) {
  const ThermalState s = learn_thermal(warm_run(), 2);
  const SustainedCost hot = sustained_cost(s, 0.20, 0.01);  // 20 W
  EXPECT_NEAR(hot.time, std::sqrt(18.0 / 6.0), 1e-6);
  EXPECT_NEAR(hot.energy, 8 * hot.time / 20, 1e-6);
  EXPECT_GT(hot.seconds_until_slow, 0);
  const SustainedCost cool = sustained_cost(s, 0.05, 0.01);
  EXPECT_EQ(cool.time, 1);
  EXPECT_EQ(cool.seconds_until_slow, 0);
}

TEST(Sustained, WhatDrawsLessStaysCoolerAndLeaksLess) {
  ThermalState s = learn_thermal(warm_run(), 2);
  s.warm = 1.1;
  // 4 W, warm, are half of the 8 W that made the run warm enough to leak a tenth more.
  EXPECT_NEAR(sustained_cost(s, 0.04, 0.01).power_w, 4 / (1 - 0.1 * 4 / 8), 1e-9);
  // Just what can be sustained: as warm as the run was, at however many watts that one began.
  EXPECT_NEAR(sustained_cost(s, 0.08 / 1.1, 0.01).power_w, 8, 1e-9);
  EXPECT_NEAR(sustained_cost(s, 0.08 / 1.1, 0.01).time, 1, 1e-9);
  EXPECT_NEAR(sustained_cost(s, 0.2, 0.01).time, std::sqrt((22.0 - 2) / 6), 1e-9);
}

TEST(Sustained, AShortJobEndsBeforeItIsWarm) {
  const ThermalState s = learn_thermal(warm_run(), 2);
  EXPECT_NEAR(job_cost_of(s, 0.12, 0.01, 10).energy, 1, 1e-9);
  const double all = sustained_cost(s, 0.12, 0.01).energy;
  EXPECT_NEAR(job_cost_of(s, 0.12, 0.01, 1e6).energy, all, 0.001);
}

TEST(Sustained, AShortRunIsRefused) { EXPECT_THROW(learn_thermal({{1, 1, 1}}, 0), Error); }

TEST(Heat, IsWaitedOutWhereTheDeviceTellsIt) {
  int calls = 0;
  double rested = 0;
  const Measure measure = [&](const MeasureRequest&) {
    Measurement m;
    m.before.clock_mhz = 1000;
    if (++calls < 3) m.after.throttle = {"thermal"};
    return m;
  };
  const Measurement m = when_cool(measure, [&](double s) { rested += s; })(MeasureRequest());
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(rested, 90);
  EXPECT_FALSE(m.throttled);
  EXPECT_NE(m.note.find("90 s of rest"), std::string::npos);
}

TEST(Heat, StaysMarkedWhereWaitingDoesNotHelp) {
  const Measure measure = [](const MeasureRequest&) {
    Measurement m;
    m.before.throttle = {"hardware thermal"};
    return m;
  };
  EXPECT_TRUE(when_cool(measure, [](double) {})(MeasureRequest()).throttled);
}

TEST(Heat, OfASilentDeviceIsSeenByIterationsThatGrow) {
  Measurement m;
  m.drift = 0.2;
  m.time_error = 0.01;
  EXPECT_TRUE(slowed_by_heat(m));
  m.time_error = 0.1;  // it scatters: something else runs there
  EXPECT_FALSE(slowed_by_heat(m));
  m.before.throttle = {"power cap"};
  m.time_error = 0.01;
  EXPECT_FALSE(slowed_by_heat(m));
}

}  // namespace
}  // namespace ampere

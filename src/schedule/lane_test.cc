#include "schedule/lane.h"

#include <gtest/gtest.h>

#include <cmath>

#include "schedule/problems_for_test.h"

namespace ampere {
namespace {

TEST(LogNormal, MeanQuantileAndProbabilityAgree) {
  const LogNormal x = LogNormal::from_mean(100, 30);
  EXPECT_NEAR(x.mean(), 100, 1e-9);
  EXPECT_NEAR(x.probability_below(x.quantile(0.95)), 0.95, 1e-9);
  EXPECT_NEAR(LogNormal::from_interval(10, 12).quantile(0.975), 12, 1e-9);
  EXPECT_EQ(LogNormal::from_mean(5, 0).quantile(0.999), 5);
  EXPECT_EQ((LogNormal{5, 0}).probability_below(5), 1);
  EXPECT_EQ((LogNormal{5, 0.1}).probability_below(0), 0);
}

ScheduleDevice charged_from_1_to_3_h() {
  ScheduleDevice d = phone("p", 5 * kWh);
  d.battery->capacity_j = 10 * kWh;
  d.charger = Charger{4, {{1 * kHour, 3 * kHour}}};
  return d;
}

TEST(Supply, ChargesWhilePluggedInAndNoFurtherThanFull) {
  const Supply s(charged_from_1_to_3_h());
  EXPECT_NEAR(s.advance(5 * kWh, 0, kHour, 0).level_j, 5 * kWh, 1e-6);
  EXPECT_NEAR(s.advance(5 * kWh, 0, 2 * kHour, 0).level_j, 9 * kWh, 1e-6);
  EXPECT_NEAR(s.advance(5 * kWh, 0, 9 * kHour, 0).level_j, 10 * kWh, 1e-6);
  EXPECT_NEAR(s.full_at(5 * kWh, 0, kNever), 2.25 * kHour, 1e-6);
  // Drawn more than is fed: lowest at the end of the draw; drawn before it is fed: lowest when that starts.
  EXPECT_NEAR(s.advance(5 * kWh, 1 * kHour, 2 * kHour, 6).lowest_j, 3 * kWh, 1e-6);
  EXPECT_NEAR(s.advance(5 * kWh, 0, 2 * kHour, 3).lowest_j, 2 * kWh, 1e-6);
  EXPECT_NEAR(s.usable_j(kNever), 13 * kWh, 1e-6);
}

TEST(Lane, WaitsForTheChargerAsLongAsNeeded) {
  const ScheduleDevice d = charged_from_1_to_3_h();
  const Supply s(d);
  // 8 Wh in 1 h: enough when 8 Wh are in, or are being fed meanwhile. From t in [1 h, 2 h]:
  // 5 + 4 (t - 1) + 4 - 8 >= 0 already at t = 1 h; before, 4 W flow only for t of the hour: 5 + 4 t - 8 = 0.
  const Slot slot = next_slot(s, d.available, initial_state(s), {true, 8 * kWh, kHour, kHour}, 0, kNever);
  ASSERT_TRUE(slot.fits);
  EXPECT_NEAR(slot.start_s, 0.75 * kHour, 1);
  EXPECT_NEAR(slot.after.level_j, 0, 10);
}

TEST(Lane, SaysByHowMuchItFails) {
  const ScheduleDevice d = charged_from_1_to_3_h();
  const Supply s(d);
  const Slot hungry = next_slot(s, d.available, initial_state(s), {true, 12 * kWh, 600, 600}, 0, kNever);
  EXPECT_FALSE(hungry.fits);
  EXPECT_EQ(hungry.late_s, 0);
  EXPECT_NEAR(hungry.short_j, 12 * kWh - 10 * kWh - 4.0 / 6 * kWh, 0.03 * kWh);
  const Slot late =
      next_slot(s, d.available, initial_state(s), {true, kWh, 3 * kHour, 3 * kHour}, 0, 2 * kHour);
  EXPECT_FALSE(late.fits);
  EXPECT_NEAR(late.late_s, kHour, 1e-6);
}

TEST(Lane, RunsWithinOneWindow) {
  ScheduleDevice d = phone("p", 20 * kWh);
  d.available = {{0, kHour}, {2 * kHour, 5 * kHour}};
  const Supply s(d);
  const Slot slot =
      next_slot(s, d.available, initial_state(s), {true, kWh, 1.5 * kHour, 1.5 * kHour}, 0, kNever);
  ASSERT_TRUE(slot.fits);
  EXPECT_DOUBLE_EQ(slot.start_s, 2 * kHour);
}

TEST(Lane, BackgroundDrainsAlso) {
  ScheduleDevice d = phone("p", 5 * kWh);
  d.background_w = 1;
  const Supply s(d);
  EXPECT_TRUE(
      next_slot(s, d.available, initial_state(s), {true, 2 * kWh, kHour, kHour}, 2 * kHour, kNever).fits);
  const Slot slot =
      next_slot(s, d.available, initial_state(s), {true, 2 * kWh, kHour, kHour}, 3 * kHour, kNever);
  EXPECT_FALSE(slot.fits);
  EXPECT_NEAR(slot.short_j, kWh, 1e-6);
}

TEST(Lane, MainsNeverRunDry) {
  ScheduleDevice d;
  d.name = "mains";
  const Supply s(d);
  EXPECT_TRUE(next_slot(s, d.available, initial_state(s), {true, 1e12, kHour, kHour}, 0, kNever).fits);
}

}  // namespace
}  // namespace ampere

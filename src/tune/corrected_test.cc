#include "tune/corrected.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace ampere {
namespace {

TuneOutcome outcome(const std::string& precision, double limit_w, double energy_j, double time_s) {
  TuneOutcome o;
  o.setting.batch = 64;
  o.setting.recipe.precision = precision;
  o.setting.power_limit_w = limit_w;
  o.energy_j = {energy_j, 0.8 * energy_j, 1.25 * energy_j};
  o.time_s = {time_s, 0.8 * time_s, 1.25 * time_s};
  o.power_deviation = limit_w > 0 ? 0.03 : 0;
  return o;
}

Tuned four() {
  Tuned tuned;
  tuned.outcomes = {outcome("default", 0, 100, 10), outcome("default", 300, 80, 12),
                    outcome("default", 400, 90, 11), outcome("bf16", 300, 50, 9)};
  return tuned;
}

TEST(Corrected, MovesAllPowerSettingsOfWhatWasTrainedAsTheDeviceComes) {
  Tuned tuned = four();
  correct(tuned, {tuned.outcomes[0].setting, 110, 9, 0.02, 0.001});
  EXPECT_TRUE(tuned.outcomes[0].measured);
  EXPECT_EQ(tuned.outcomes[0].energy_j.value, 110);
  EXPECT_NEAR(tuned.outcomes[0].energy_j.high / 110, std::exp(1.96 * 0.02), 1e-4);
  EXPECT_NEAR(tuned.outcomes[0].time_s.high / 9, std::exp(1.96 * 0.01), 1e-4);  // never surer than that
  EXPECT_NEAR(tuned.outcomes[1].energy_j.value, 88, 1e-9);
  EXPECT_NEAR(tuned.outcomes[2].time_s.value, 9.9, 1e-9);
  EXPECT_FALSE(tuned.outcomes[1].measured);
  EXPECT_GT(tuned.outcomes[1].energy_j.high / 88, tuned.outcomes[0].energy_j.high / 110);
  EXPECT_EQ(tuned.outcomes[3].energy_j.value, 50);  // another recipe
}

TEST(Corrected, KeepsOtherPowerSettingsWhereTheLevelIsKnown) {
  Tuned tuned = four();
  correct(tuned, {tuned.outcomes[0].setting, 110, 9, 0.01, 0.01});
  correct(tuned, {tuned.outcomes[1].setting, 99, 13, 0.01, 0.01});
  EXPECT_EQ(tuned.outcomes[1].energy_j.value, 99);
  EXPECT_NEAR(tuned.outcomes[2].energy_j.value, 99, 1e-9);  // 90 by the level's tenth, no more
  EXPECT_NEAR(tuned.outcomes[2].time_s.value, 9.9, 1e-9);
  EXPECT_EQ(tuned.outcomes[0].energy_j.value, 110);
}

TEST(Corrected, TakesTheLevelFromAPowerSettingWhereThatIsAllThereIs) {
  Tuned tuned = four();
  correct(tuned, {tuned.outcomes[1].setting, 96, 12, 0.01, 0.01});
  EXPECT_NEAR(tuned.outcomes[0].energy_j.value, 120, 1e-9);
  EXPECT_NEAR(tuned.outcomes[2].energy_j.value, 108, 1e-9);
  TrainedSetting other{tuned.outcomes[0].setting, 1, 1, 0, 0};
  other.setting.batch = 7;
  EXPECT_THROW(correct(tuned, other), Error);
}

}  // namespace
}  // namespace ampere

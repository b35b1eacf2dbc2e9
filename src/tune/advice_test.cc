#include "tune/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tune/search.h"

namespace ampere {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

LayerEstimate layer(const std::string& name, const std::string& kind, double time_s) {
  LayerEstimate l;
  l.name = name;
  l.kind = kind;
  l.time_s = {time_s, time_s, time_s};
  return l;
}

// A device that is busy all the time, at 500 W, for as long as its layers take.
Estimate busy(std::vector<LayerEstimate> layers) {
  Estimate e;
  e.layers = std::move(layers);
  for (const LayerEstimate& l : e.layers) e.device_time_s += l.time_s.value;
  e.device_energy_j = 500 * e.device_time_s;
  e.time_s = {e.device_time_s, 0.9 * e.device_time_s, 1.1 * e.device_time_s};
  e.energy_j = {e.device_energy_j, 0.9 * e.device_energy_j, 1.1 * e.device_energy_j};
  e.idle_power_w = 110;
  e.regime = Regime::kDevice;
  return e;
}

TrainingSetting setting(const std::string& precision, bool channels_last = false) {
  TrainingSetting s{64, {}};
  s.recipe.precision = precision;
  s.channels_last = channels_last;
  return s;
}

Tuned tuned_of(std::vector<TuneCandidate> candidates, TuneOptions o = {}) {
  o.samples = 6400;
  return search_settings(std::move(candidates), o, &known_levers());
}

TEST(Advice, IsSilentWithoutAReason) {
  EXPECT_THAT(tuned_of({{setting("default"), busy({layer("a", "linear", 0.02)}), {}}}).advice, IsEmpty());
}

TEST(Advice, BatchNormWhoseLayoutIsKnown) {
  const Estimate first = busy({layer("a", "Conv2d-BatchNorm2d-ReLU", 0.02), layer("b", "Linear", 0.02)});
  const Estimate last = busy({layer("a", "Conv2d-BatchNorm2d-ReLU", 0.01), layer("b", "Linear", 0.022)});
  TuneOptions o;
  o.objective = Objective::kTime;
  // Were it chosen already, nothing would be left to say.
  EXPECT_THAT(tuned_of({{setting("bf16"), first, {}}, {setting("bf16", true), last, {}}}, o).advice,
              IsEmpty());
  Tuned tuned = tuned_of({{setting("bf16"), first, {}}, {setting("bf16", true), last, {}}}, o);
  tuned.best = tuned.present;
  const std::vector<TuneAdvice> advice = advice_of(tuned, o);
  ASSERT_THAT(advice, SizeIs(1));
  EXPECT_EQ(advice[0].what, "train with channels last");
  EXPECT_THAT(advice[0].evidence, HasSubstr("layers with batch norm are 50% of the device's time in bf16"));
  EXPECT_THAT(advice[0].evidence, HasSubstr("50% less, the others 10% more"));
}

TEST(Advice, BatchNormWhoseLayoutNobodyKnows) {
  const Estimate plain = busy({layer("a", "conv3x3p1nb-bn-relu@56x56b8", 0.022), layer("b", "linear", 0.04)});
  const Estimate half = busy({layer("a", "conv3x3p1nb-bn-relu@56x56b8", 0.02), layer("b", "linear", 0.02)});
  const Tuned tuned = tuned_of({{setting("default"), plain, {}}, {setting("bf16"), half, {}}});
  ASSERT_THAT(tuned.advice, SizeIs(1));
  EXPECT_THAT(tuned.advice[0].what, HasSubstr("this profile cannot tell it"));
  EXPECT_THAT(tuned.advice[0].evidence,
              HasSubstr("1.1 times as quick as in default, the other layers 2 times"));
  // Where all layers gain alike, batch norm is no reason for anything.
  const Estimate alike = busy({layer("a", "conv3x3p1nb-bn-relu@56x56b8", 0.011), layer("b", "linear", 0.02)});
  EXPECT_THAT(tuned_of({{setting("default"), plain, {}}, {setting("bf16"), alike, {}}}).advice, IsEmpty());
}

TEST(Advice, ADeviceThatWaitsForItsHost) {
  Estimate e = busy({layer("a", "linear", 0.01)});
  e.regime = Regime::kHost;
  e.host_time_s = 0.02;
  e.time_s = {0.02, 0.018, 0.022};
  e.energy_j = {6.1, 5.8, 6.4};
  TuneOptions o;
  const Tuned tuned = tuned_of({{setting("default"), e, {}}}, o);
  ASSERT_THAT(tuned.advice, SizeIs(1));
  EXPECT_THAT(tuned.advice[0].evidence, HasSubstr("50% of a step, and is busy for 10 ms of 20 ms"));
  EXPECT_THAT(tuned.advice[0].evidence, HasSubstr("10 ms and 5 J instead of 6.1 J"));
  o.mode = MeasureMode::kReplay;
  EXPECT_THAT(tuned_of({{setting("default"), e, {}}}, o).advice, IsEmpty());
}

TEST(Advice, WaitingIsToldOfTheLimitThatIsAdvised) {
  Estimate e = busy({layer("a", "linear", 0.01)});
  e.regime = Regime::kHost;
  e.host_time_s = e.time_s.value = 0.02;
  e.time_s = {0.02, 0.018, 0.022};
  e.energy_j = {6.1, 5.8, 6.4};
  TuneOptions o;
  o.power_limits_w = {300};
  const Tuned tuned = tuned_of({{setting("default"), e, {}}}, o);
  ASSERT_EQ(tuned.outcomes[tuned.best].setting.power_limit_w, 300);
  ASSERT_THAT(tuned.advice, SizeIs(1));
  // Under it the device takes longer than 10 ms, and the step less than 6.1 J.
  EXPECT_THAT(tuned.advice[0].evidence, ::testing::Not(HasSubstr("busy for 10 ms")));
  EXPECT_THAT(tuned.advice[0].evidence, ::testing::Not(HasSubstr("instead of 6.1 J")));
}

TEST(Advice, OptimizersLimitsAndWhatNobodyMeasured) {
  Estimate e = busy(
      {layer("a", "linear", 0.008), layer("(optimizer)", "optimizer", 0.002), layer("(host)", "host", 9)});
  e.device_time_s = 0.01;
  e.device_energy_j = 3;
  e.time_s = {0.01, 0.009, 0.011};
  e.energy_j = {3, 2.7, 3.3};
  e.unmeasured = 0.9;
  e.gain = MeasuringGain{4, 3.2, {3, 2.94, 3.06}};
  TuneOptions o;
  o.power_limits_w = {250, 600, 650};
  o.objective = Objective::kTime;
  const Tuned tuned = tuned_of({{setting("default"), e, {}}}, o);
  ASSERT_THAT(tuned.advice, SizeIs(3));
  EXPECT_THAT(tuned.advice[0].evidence,
              HasSubstr("the optimizer (sgd) is 20% of the device's time at batch 64"));
  EXPECT_EQ(tuned.advice[1].what, "only limits below 600 W change anything");
  EXPECT_THAT(tuned.advice[1].evidence, HasSubstr("draws 300 W"));
  EXPECT_THAT(tuned.advice[2].what, HasSubstr("4 layers, about 3.2 s"));
  EXPECT_THAT(tuned.advice[2].evidence, HasSubstr("90% of this energy"));
  EXPECT_THAT(tuned.advice[2].evidence, HasSubstr("-2% +2% instead of -10% +10%"));
}

}  // namespace
}  // namespace ampere

#include "tune/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tune/limited.h"

namespace ampere {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A device-bound network of 500 W; half the energy and time per sample in bf16, and a third of a second for
// each iteration that no batch changes.
Estimate told(std::int64_t batch, const std::string& precision) {
  const double share = precision == "bf16" ? 0.5 : 1;
  Estimate e;
  e.device_time_s = 0.3 + 0.01 * share * static_cast<double>(batch);
  e.device_energy_j = 500 * e.device_time_s;
  e.time_s = {e.device_time_s, 0.9 * e.device_time_s, 1.1 * e.device_time_s};
  e.energy_j = {e.device_energy_j, 0.9 * e.device_energy_j, 1.1 * e.device_energy_j};
  e.idle_power_w = 110;
  e.regime = Regime::kDevice;
  return e;
}

const EstimateBase kTold = [](std::int64_t batch, const Recipe& recipe,
                              std::string& why) -> std::optional<Estimate> {
  if (recipe.precision == "tf32") {
    why = "never measured";
    return std::nullopt;
  }
  return told(batch, recipe.precision);
};

// Of everything that the options name.
Tuned searched(const TrainingSetup& present, const TuneOptions& options, const LeverModel* levers) {
  return search_settings(candidates_of(present, options, kTold), options, levers);
}

TuneOptions job() {
  TuneOptions o;
  o.samples = 64000;
  o.epochs = 2;
  return o;
}

TEST(Search, SharesWhatTwoEstimatesOfOneNetworkHaveInCommon) {
  TuneOptions o = job();
  o.precisions = {"bf16"};
  const TrainingSetup present{64, {}};
  const auto width = [&](double unmeasured) {
    auto candidates = candidates_of(present, o, kTold);
    for (TuneCandidate& c : candidates) c.estimate->unmeasured = unmeasured;
    const Interval saved = search_settings(candidates, o, nullptr).saved_energy;
    return std::log((1 - saved.low) / (1 - saved.high));
  };
  const double apart = width(0);
  EXPECT_NEAR(width(1), std::sqrt(0.5) * apart, 1e-9);
  EXPECT_NEAR(width(0.4), std::sqrt(0.8) * apart, 1e-9);
}

TEST(Limited, StretchesTheDeviceAndNotTheHost) {
  Estimate bound = told(64, "default");
  const LeverModel& levers = known_levers();
  const Estimate slow = limited(bound, levers, {300, 0});
  EXPECT_LT(slow.energy_j.value, 0.9 * bound.energy_j.value);
  EXPECT_GT(slow.time_s.value, 1.05 * bound.time_s.value);
  EXPECT_LT(slow.energy_j.low / slow.energy_j.value, bound.energy_j.low / bound.energy_j.value);
  EXPECT_EQ(slow.power_limit_w, 300);
  // Twice as long for the host: the device has time to be slow in.
  Estimate waiting = bound;
  waiting.regime = Regime::kHost;
  waiting.host_time_s = 2 * bound.device_time_s;
  waiting.time_s = waiting.time_s * (2.0 + 1e-3);
  waiting.energy_j = waiting.energy_j * (1 + 110.0 * 1.001 / 500);
  const Estimate patient = limited(waiting, levers, {300, 0});
  EXPECT_LT(patient.time_s.value, 1.05 * waiting.time_s.value);
  EXPECT_LT(patient.energy_j.value, waiting.energy_j.value);
  EXPECT_EQ(limited(bound, levers, {}).energy_j.value, bound.energy_j.value);
  bound.regime = Regime::kSingle;
  EXPECT_THROW(limited(bound, levers, {300, 0}), Error);
}

TEST(Search, FindsTheLeastOfEverythingAsked) {
  TuneOptions o = job();
  o.batches = {16, 64, 256};
  o.precisions = {"bf16", "tf32"};
  o.power_limits_w = {300, 400, 500};
  const Tuned tuned = searched({64, {}}, o, &known_levers());
  EXPECT_THAT(tuned.outcomes, SizeIs(3 * 2 * 4));
  EXPECT_THAT(tuned.left_out, SizeIs(3));
  EXPECT_THAT(tuned.left_out.front(), HasSubstr("never measured"));
  const TuneOutcome &present = tuned.outcomes[tuned.present], &best = tuned.outcomes[tuned.best];
  EXPECT_EQ(present.setting.batch, 64);
  EXPECT_EQ(best.setting.batch, 256);
  EXPECT_EQ(best.setting.recipe.precision, "bf16");
  EXPECT_EQ(best.setting.power_limit_w, 300);
  for (const TuneOutcome& outcome : tuned.outcomes) {
    EXPECT_GE(outcome.energy_j.value, best.energy_j.value);
    // Nobody is quicker and needs less than one on the front.
    for (const std::size_t f : tuned.front) {
      const TuneOutcome& on = tuned.outcomes[f];
      EXPECT_FALSE(outcome.energy_j.value < on.energy_j.value && outcome.time_s.value < on.time_s.value);
    }
  }
  // The steps add up to the whole.
  ASSERT_THAT(tuned.steps, SizeIs(3));
  EXPECT_EQ(tuned.steps[0].change, "bf16 instead of default");
  EXPECT_EQ(tuned.steps[2].change, "300 W");
  double left = 1;
  for (const TuneStep& step : tuned.steps) left *= 1 - step.energy.value;
  EXPECT_NEAR(left, 1 - tuned.saved_energy.value, 1e-9);
  EXPECT_LT(tuned.saved_energy.low, tuned.saved_energy.value);
  EXPECT_GT(tuned.saved_energy.high, tuned.saved_energy.value);
  ASSERT_THAT(tuned.singles, SizeIs(3));
  EXPECT_NEAR(tuned.singles[0].energy.value, tuned.steps[0].energy.value, 1e-12);
  // One estimate behind both: its own error does not count.
  EXPECT_LT(tuned.steps[2].energy.high - tuned.steps[2].energy.low, 0.2);
}

TEST(Search, KeepsToTimeAndDeadline) {
  TuneOptions o = job();
  o.power_limits_w = {200, 300, 400, 500};
  const Tuned free = searched({64, {}}, o, &known_levers());
  const double present_s = free.outcomes[free.present].time_s.value;
  EXPECT_GT(free.outcomes[free.best].time_s.value, 1.05 * present_s);
  o.most_slower = 0.05;
  const Tuned kept = searched({64, {}}, o, &known_levers());
  EXPECT_LE(kept.outcomes[kept.best].time_s.value, 1.05 * present_s + 1e-6);
  o.most_slower.reset();
  o.deadline_s = free.outcomes[free.present].time_s.high * 1.0001;
  const Tuned in_time = searched({64, {}}, o, &known_levers());
  EXPECT_LE(in_time.outcomes[in_time.best].time_s.high, *o.deadline_s);
  o.deadline_s = 1;
  try {
    searched({64, {}}, o, &known_levers());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kOverBudget);
  }
}

TEST(Search, HasFourObjectives) {
  TuneOptions o = job();
  o.power_limits_w = {200, 250, 300, 350, 400, 450, 500, 600};
  const auto best = [&](Objective objective) {
    o.objective = objective;
    const Tuned tuned = searched({64, {}}, o, &known_levers());
    return tuned.outcomes[tuned.best];
  };
  EXPECT_THROW(best(Objective::kCost), Error);  // of what price?
  const TuneOutcome least = best(Objective::kEnergy), quick = best(Objective::kTime),
                    both = best(Objective::kEnergyDelay);
  EXPECT_EQ(quick.time_s.value, told(64, "default").time_s.value * iterations_of(64000, 64, 2));
  EXPECT_LT(least.energy_j.value, quick.energy_j.value);
  EXPECT_LE(both.energy_j.value * both.time_s.value, least.energy_j.value * least.time_s.value);
  EXPECT_LE(both.energy_j.value * both.time_s.value, quick.energy_j.value * quick.time_s.value);
  o.tariff = tariff_of("0.3EUR/kWh", "");
  EXPECT_EQ(best(Objective::kCost).setting, least.setting);  // energy alone
  o.price_per_hour = 1000;                                   // the device's hours are all that counts
  EXPECT_EQ(best(Objective::kCost).setting, quick.setting);
}

TEST(Search, OptimizersAndLayoutsAreSettingsToo) {
  TuneOptions o = job();
  const EstimateBase base = [](std::int64_t batch, const Recipe& recipe,
                               std::string& why) -> std::optional<Estimate> {
    Estimate e = told(batch, recipe.precision);
    if (recipe.optimizer == "adam") e.energy_j = e.energy_j * 1.2;
    if (recipe.optimizer == "momentum") why = "not profiled";
    return recipe.optimizer == "momentum" ? std::nullopt : std::optional(e);
  };
  Recipe adam;
  adam.optimizer = "adam";
  o.optimizers = {"sgd", "momentum"};
  const Tuned tuned = search_settings(candidates_of({64, adam}, o, base), o, nullptr);
  EXPECT_EQ(tuned.outcomes[tuned.present].setting.recipe.optimizer, "adam");
  EXPECT_EQ(tuned.outcomes[tuned.best].setting.recipe.optimizer, "sgd");
  ASSERT_THAT(tuned.steps, SizeIs(1));
  EXPECT_EQ(tuned.steps[0].change, "sgd instead of adam");
  EXPECT_NEAR(tuned.saved_energy.value, 1 - 1 / 1.2, 1e-9);
  EXPECT_THAT(tuned.left_out, SizeIs(1));
}

TEST(Search, TakesCandidatesThatOthersHaveEstimated) {
  TrainingSetting now{64, {}}, last = now;
  last.channels_last = true;
  std::vector<TuneCandidate> candidates = {{now, told(64, "default"), {}}, {last, told(64, "bf16"), {}}};
  TuneOptions o = job();
  o.power_limits_w = {300};
  const Tuned tuned = search_settings(candidates, o, &known_levers());
  EXPECT_THAT(tuned.outcomes, SizeIs(4));
  EXPECT_TRUE(tuned.outcomes[tuned.best].setting.channels_last);
  ASSERT_THAT(tuned.steps, SizeIs(2));
  EXPECT_EQ(tuned.steps[0].change, "channels last");
  EXPECT_EQ(setting_text(tuned.outcomes[tuned.best].setting),
            "batch 64, sgd-default-t1, channels last, 300 W");
  candidates.front().estimate.reset();
  candidates.front().why = "nobody knows";
  EXPECT_THROW(search_settings(candidates, o, &known_levers()), Error);
  EXPECT_THROW(search_settings({}, o, &known_levers()), Error);
  EXPECT_EQ(limits_of(known_levers()).front(), 200);
  EXPECT_EQ(limits_of(known_levers()).back(), 650);
}

TEST(Search, RefusesWhatMakesNoSense) {
  TuneOptions o = job();
  o.power_limits_w = {300};
  EXPECT_THROW(searched({64, {}}, o, nullptr), Error);
  Recipe unknown;
  unknown.precision = "tf32";
  try {
    searched({64, unknown}, job(), nullptr);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kNotProfiled);
  }
  o = job();
  o.samples = 0;
  EXPECT_THROW(searched({64, {}}, o, nullptr), Error);
}

}  // namespace
}  // namespace ampere

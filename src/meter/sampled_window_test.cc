#include "meter/sampled_window.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "meter/simulation_for_test.h"

namespace ampere {
namespace {

// An H200 as its driver shows it, which has been idle for a while.
struct Card : Simulation {
  Card() {
    tick = Seconds(0.1);
    read_cost = Seconds(0.0024);
    sample_every = Seconds(0.02);
    pass(Seconds(1), idle);
  }
  WindowOptions options() {
    WindowOptions o;
    o.clock = clock();
    o.min_ticks = 2;
    o.min_windows = 1;
    o.discard_first = false;
    o.warm_up = Seconds(0.05);
    o.budget = Seconds(0.8);
    o.target_error = 0.05;
    MeterCharacter character;
    character.moves = true;
    character.tick = tick;
    character.ticks = 12;
    character.read_cost = read_cost;
    o.character = character;
    return o;
  }
};

TEST(SampledWindows, TellEnergyInAQuarterOfASecond) {
  for (const double iteration_s : {1e-5, 0.003, 0.04}) {
    Card card;
    card.iteration = Seconds(iteration_s);
    ScriptedMeter meter = card.meter();
    const Seconds start = card.time;
    const WindowSummary summary = measure_windows(meter, card.work(), card.options());
    EXPECT_TRUE(summary.sampled);
    EXPECT_TRUE(summary.stable);
    EXPECT_EQ(summary.ended, "settled");
    EXPECT_NEAR(summary.energy / card.per_iteration(), 1, 0.003) << iteration_s;
    EXPECT_NEAR(summary.time.value() / iteration_s, 1, 0.001) << iteration_s;
    EXPECT_GE(summary.energy_error, kSampledError);
    EXPECT_LT((card.time - start).value(), iteration_s < 0.01 ? 0.27 : 0.35);
    EXPECT_EQ(summary.windows.size(), 1U);
  }
}

TEST(SampledWindows, HoldAWholeIterationWhereThatIsLonger) {
  for (const double iteration_s : {0.2, 0.3, 0.5, 0.9}) {
    Card card;
    card.iteration = Seconds(iteration_s);
    ScriptedMeter meter = card.meter();
    const WindowSummary summary = measure_windows(meter, card.work(), card.options());
    EXPECT_TRUE(summary.sampled) << iteration_s;
    EXPECT_NEAR(summary.energy / card.per_iteration(), 1, 0.01) << iteration_s;
    EXPECT_NEAR(summary.time.value() / iteration_s, 1, 0.001) << iteration_s;
    EXPECT_LE(card.iterations, 4) << iteration_s;
  }
}

TEST(SampledWindows, AreForQuickLooksAtSlowCounters) {
  Card card;
  ScriptedMeter meter = card.meter();
  WindowOptions options = card.options();
  EXPECT_TRUE(samples_tell_more(meter, options));
  options.min_ticks = 4;  // then the counter is better known than the samples
  EXPECT_FALSE(samples_tell_more(meter, options));
  options = card.options();
  options.character->tick = Seconds(0);
  EXPECT_FALSE(samples_tell_more(meter, options));
  options.character = std::nullopt;
  EXPECT_FALSE(samples_tell_more(meter, options));
}

TEST(SampledWindows, NeedSamplesThatAreDenseAndFresh) {
  Card card;
  ScriptedMeter meter = card.meter();
  ASSERT_TRUE(sample_spacing(meter, card.clock()));
  EXPECT_NEAR(sample_spacing(meter, card.clock())->value(), 0.02, 1e-9);
  card.time += Seconds(0.6);
  EXPECT_FALSE(sample_spacing(meter, card.clock()));
  Card slow;
  slow.sample_every = Seconds(0.05);
  slow.pass(Seconds(1), slow.idle);
  ScriptedMeter sparse = slow.meter();
  EXPECT_FALSE(sample_spacing(sparse, slow.clock()));
  slow.record.resize(5);
  EXPECT_FALSE(sample_spacing(sparse, slow.clock()));
  slow.record.assign(20, {slow.time, Watts(300)});  // all of one moment
  EXPECT_FALSE(sample_spacing(sparse, slow.clock()));
}

TEST(SampledWindows, GoOnUntilPowerIsSteady) {
  Card card;
  const Seconds begin = card.time;
  const Work work = [&](std::int64_t count) {
    const double since = (card.time - begin).value();
    card.busy = Watts(500 + 200 * std::exp(-since / 0.12));  // slows down to its limit
    card.work()(count);
  };
  ScriptedMeter meter = card.meter();
  WindowOptions options = card.options();
  options.budget = Seconds(3);
  const WindowSummary summary = measure_windows(meter, work, options);
  EXPECT_TRUE(summary.sampled);
  EXPECT_TRUE(summary.stable);
  EXPECT_NEAR(summary.energy.value(), 500 * 0.003, 0.03 * 500 * 0.003);
  EXPECT_GT((card.time - begin).value(), 0.4);
}

TEST(SampledWindows, SayHowUnsteadyItWasWhenTheBudgetEnds) {
  Card card;
  int calls = 0;
  const Work work = [&](std::int64_t count) {
    card.busy = Watts(300 + 15 * static_cast<double>(++calls));  // no end of it
    card.work()(count);
  };
  ScriptedMeter meter = card.meter();
  const WindowSummary summary = measure_windows(meter, work, card.options());
  EXPECT_FALSE(summary.stable);
  EXPECT_EQ(summary.ended, "budget");
  EXPECT_GT(summary.energy_error, kSampledError);
}

TEST(SampledWindows, LeaveItToTheCounterWhereSamplesStop) {
  Card card;
  ScriptedMeter meter = card.meter();
  meter.set_samples([&, kept = card.record] { return kept; });
  const WindowSummary summary = measure_windows(meter, card.work(), card.options());
  EXPECT_FALSE(summary.sampled);
  EXPECT_NEAR(summary.energy / card.per_iteration(), 1, 0.05);
}

TEST(SampledWindows, LeaveItToTheCounterWhereTheyContradictIt) {
  for (const double says : {0.0, 0.4, 2.5}) {
    Card card;
    card.record_says = says;
    card.pass(Seconds(1), card.idle);
    ScriptedMeter meter = card.meter();
    const WindowSummary summary = measure_windows(meter, card.work(), card.options());
    EXPECT_FALSE(summary.sampled) << says;
    EXPECT_NEAR(summary.energy / card.per_iteration(), 1, 0.05) << says;
  }
}

TEST(SampledWindows, LeaveItToTheCounterWhereAnIterationTakesLongerThanTheyAreKept) {
  Card card;
  card.iteration = Seconds(2.5);
  ScriptedMeter meter = card.meter();
  WindowOptions options = card.options();
  options.budget = Seconds(10);
  EXPECT_FALSE(measure_windows(meter, card.work(), options).sampled);
}

TEST(SampledWindows, ACounterThatStandsStillIsNoMeter) {
  Card card;
  ScriptedMeter meter([&] {
    card.pass(card.read_cost, card.idle);
    return Reading{Joules(7), card.time};
  });
  meter.set_samples([&] { return card.record; });
  try {
    measure_windows(meter, card.work(), card.options());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kNoMeter);
  }
}

}  // namespace
}  // namespace ampere

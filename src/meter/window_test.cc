#include "meter/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "meter/simulation_for_test.h"

namespace ampere {
namespace {

WindowOptions options_for(Simulation& device) {
  WindowOptions options;
  options.clock = device.clock();
  return options;
}

TEST(Windows, ASteadyDeviceSettlesAtOnce) {
  Simulation device;
  ScriptedMeter meter = device.meter();
  const WindowSummary summary = measure_windows(meter, device.work(), options_for(device));
  EXPECT_NEAR(summary.energy.value(), device.per_iteration().value(), 1e-5);
  EXPECT_NEAR(summary.time.value(), 0.003, 1e-6);
  EXPECT_TRUE(summary.stable);
  EXPECT_EQ(summary.ended, "settled");
  EXPECT_EQ(summary.windows.size(), 3U);
  EXPECT_EQ(summary.outliers, 0);
}

TEST(Windows, IterationsLongerThanAWindowAreMeasuredWhole) {
  Simulation device;
  device.iteration = Seconds(2);
  ScriptedMeter meter = device.meter();
  const WindowSummary summary = measure_windows(meter, device.work(), options_for(device));
  EXPECT_NEAR(summary.time.value(), 2, 1e-5);
}

TEST(Windows, TheOneRightAfterWarmUpIsThrownAway) {
  for (const bool discard : {true, false}) {
    Simulation device;
    const Work work = [&](std::int64_t count) {
      device.busy = Watts(device.time < Seconds(100.2) ? 150 : 300);  // power ramps
      device.work()(count);
    };
    ScriptedMeter meter = device.meter();
    WindowOptions options = options_for(device);
    options.discard_first = discard;
    const WindowSummary summary = measure_windows(meter, work, options);
    EXPECT_EQ(summary.outliers, discard ? 0 : 1);
    EXPECT_NEAR(summary.energy.value(), 0.9, 1e-3);
  }
}

TEST(Windows, SpanTheTicksAskedFor) {
  for (const int ticks : {1, 3, 30}) {
    Simulation device;
    device.tick = Seconds(0.1);
    device.read_cost = Seconds(0.004);
    ScriptedMeter meter = device.meter();
    WindowOptions options = options_for(device);
    options.min_ticks = ticks;
    const WindowSummary summary = measure_windows(meter, device.work(), options);
    for (const Window& window : summary.windows) {
      EXPECT_NEAR((window.time + window.reading).value(), 0.1 * ticks, 0.01) << ticks;
    }
    EXPECT_NEAR(summary.energy / device.per_iteration(), 1, 0.05) << ticks;
  }
}

TEST(Windows, OnlyAQuickLookIsNotStretchedForSlowReads) {
  for (const int ticks : {3, kTicksPerWindow}) {
    Simulation device;
    device.tick = Seconds(0.1);
    device.read_cost = Seconds(0.02);
    ScriptedMeter meter = device.meter();
    WindowOptions options = options_for(device);
    options.min_ticks = ticks;
    const Window window = measure_windows(meter, device.work(), options).windows.front();
    EXPECT_NEAR((window.time + window.reading).value(), ticks < kTicksPerWindow ? 0.3 : 3.0, 0.02) << ticks;
  }
}

TEST(Windows, AreSpreadByTheGap) {
  Simulation device;
  ScriptedMeter meter = device.meter();
  WindowOptions options = options_for(device);
  options.gap = Seconds(5);
  measure_windows(meter, device.work(), options);
  EXPECT_GE(device.time.value(), 100 + 4 * 5);
}

TEST(Windows, KeepTheStateBeforeAndAfter) {
  Simulation device;
  ScriptedMeter meter = device.meter();
  DeviceState state;
  state.temperature_c = 55;
  state.throttle = {"power cap"};
  meter.set_state(state);
  const WindowSummary summary = measure_windows(meter, device.work(), options_for(device));
  EXPECT_EQ(summary.before.temperature_c, 55);
  EXPECT_EQ(summary.after.throttle.size(), 1U);
}

TEST(Windows, ANoisyDeviceEndsWithTheBudgetAndSaysSo) {
  Simulation device;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> power(50, 600);
  const Work work = [&](std::int64_t count) {
    device.busy = Watts(power(random));
    device.work()(count);
  };
  ScriptedMeter meter = device.meter();
  WindowOptions options = options_for(device);
  options.target_error = 1e-4;
  const WindowSummary summary = measure_windows(meter, work, options);
  EXPECT_FALSE(summary.stable);
  EXPECT_EQ(summary.ended, "budget");
  EXPECT_GT(summary.energy_error, 1e-4);
}

TEST(Windows, StopAtTheirLimit) {
  Simulation device;
  int calls = 0;
  const Work work = [&](std::int64_t count) {
    device.busy = Watts(++calls % 2 == 0 ? 100 : 200);
    device.work()(count);
  };
  ScriptedMeter meter = device.meter();
  WindowOptions options = options_for(device);
  options.max_windows = 5;
  options.budget = Seconds(1000);
  EXPECT_EQ(measure_windows(meter, work, options).ended, "max windows");
}

TEST(Windows, AnOutlierIsCountedAndDoesNotMoveTheMedian) {
  Simulation device;
  int calls = 0;
  int windows = 0;
  const Work work = [&](std::int64_t count) {
    device.busy = Watts(300 + (++calls % 3));
    if (count > 20 && ++windows == 4) device.busy = Watts(3000);
    device.work()(count);
  };
  ScriptedMeter meter = device.meter();
  WindowOptions options = options_for(device);
  options.target_error = 1e-9;
  const WindowSummary summary = measure_windows(meter, work, options);
  EXPECT_EQ(summary.outliers, 1);
  EXPECT_NEAR(summary.energy.value(), 0.9, 0.01);
}

ErrorKind kind_thrown(Meter& meter, const Work& work, const WindowOptions& options) {
  try {
    measure_windows(meter, work, options);
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::kFailed;
}

TEST(Windows, ZeroIsNeverAMeasurement) {
  Simulation device;
  ScriptedMeter meter([&] { return Reading{Joules(7), device.time}; });
  EXPECT_EQ(kind_thrown(meter, device.work(), options_for(device)), ErrorKind::kNoMeter);
}

TEST(Windows, ACounterThatRunsBackwardsIsRefused) {
  Simulation device;
  ScriptedMeter meter([&] { return Reading{Joules(1e6 - device.time.value()), device.time}; });
  EXPECT_EQ(kind_thrown(meter, device.work(), options_for(device)), ErrorKind::kNoMeter);
}

TEST(Windows, AMeterThatDisappearsStopsTheMeasurement) {
  Simulation device;
  ScriptedMeter meter(std::vector<Reading>{{Joules(1), Seconds(1)}});
  EXPECT_EQ(kind_thrown(meter, device.work(), options_for(device)), ErrorKind::kNoMeter);
}

TEST(Windows, ImpossibleOptionsAreBadInput) {
  Simulation device;
  ScriptedMeter meter = device.meter();
  WindowOptions options = options_for(device);
  options.window = Seconds(0);
  EXPECT_EQ(kind_thrown(meter, device.work(), options), ErrorKind::kBadInput);
  options = options_for(device);
  options.min_ticks = 0;
  EXPECT_EQ(kind_thrown(meter, device.work(), options), ErrorKind::kBadInput);
}

}  // namespace
}  // namespace ampere

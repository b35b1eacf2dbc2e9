// Windows over a counter that ticks ten times a second and costs 4 ms to read, as NVIDIA's was seen to do.
#include "meter/ticks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "meter/simulation_for_test.h"

namespace ampere {
namespace {

Simulation slow_counter() {
  Simulation device;
  device.tick = Seconds(0.1);
  device.read_cost = Seconds(0.004);
  return device;
}

WindowSummary measure(Simulation& device, WindowOptions options = {}) {
  ScriptedMeter meter = device.meter();
  options.clock = device.clock();
  return measure_windows(meter, device.work(), options);
}

TEST(TickAlignedWindows, ReadingTakesLessThanAHundredthOfThem) {
  Simulation device = slow_counter();
  const WindowSummary summary = measure(device);
  EXPECT_GT(summary.overhead, 0);
  EXPECT_LT(summary.overhead, 0.01);
  EXPECT_NEAR(summary.tick.value(), 0.1, 2e-4);
}

TEST(TickAlignedWindows, SpanTenTicksAndCloseOnOne) {
  Simulation device = slow_counter();
  for (const Window& window : measure(device).windows) {
    const double ticks = (window.time + window.reading).value() / 0.1;
    EXPECT_GE(ticks, 9.99);
    EXPECT_NEAR(ticks, std::round(ticks), 0.05);
  }
}

TEST(TickAlignedWindows, AreRightWithinHalfAPercentForAnyIterationTime) {
  for (const double iteration : {0.0001, 0.0007, 0.003, 0.0131, 0.04, 0.077}) {
    Simulation device = slow_counter();
    device.iteration = Seconds(iteration);
    const WindowSummary summary = measure(device);
    EXPECT_NEAR(summary.energy / device.per_iteration(), 1, 0.006) << iteration;
    EXPECT_NEAR(summary.time.value() / iteration, 1, 0.006) << iteration;
    EXPECT_LT(summary.overhead, 0.01) << iteration;
  }
}

TEST(TickAlignedWindows, AreRightForManyCounters) {
  std::mt19937 random(7);
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random));
  };
  for (int i = 0; i < 200; ++i) {
    Simulation device;
    device.tick = Seconds(between(0.02, 1));
    device.jitter = device.tick * 0.02;
    device.read_cost = Seconds(between(1e-5, 0.005));
    device.iteration = Seconds(between(1e-4, 0.02));
    device.idle = Watts(between(10, 200));
    device.pass(Seconds(between(0.001, 0.2)), device.idle);
    WindowOptions options;
    options.idle = device.idle;
    options.budget = Seconds(30);
    const WindowSummary summary = measure(device, options);
    EXPECT_NEAR(summary.energy / device.per_iteration(), 1, 0.01)
        << "tick " << device.tick.value() << " read " << device.read_cost.value() << " iteration "
        << device.iteration.value();
    EXPECT_LT(summary.overhead, 0.01)
        << "tick " << device.tick.value() << " read " << device.read_cost.value() << " iteration "
        << device.iteration.value();
  }
}

TEST(TickAlignedWindows, IterationsLongerThanTicksAreStillCounted) {
  for (const double iteration : {0.11, 0.2, 0.35, 1.3}) {
    Simulation device = slow_counter();
    device.iteration = Seconds(iteration);
    const WindowSummary summary = measure(device);
    EXPECT_NEAR(summary.energy / device.per_iteration(), 1, 0.03) << iteration;
  }
}

TEST(TickAlignedWindows, KnownIdlePowerTakesOffWhatTheReadsCost) {
  Simulation with = slow_counter();
  Simulation without = slow_counter();
  WindowOptions options;
  options.idle = with.idle;
  const WindowSummary known = measure(with, options);
  const WindowSummary unknown = measure(without);
  const Window& window = unknown.windows.front();
  const Joules cost = with.idle * window.reading / window.iterations;
  EXPECT_NEAR((unknown.energy - known.energy) / cost, 1, 0.1);
  EXPECT_NEAR(known.energy / with.per_iteration(), 1, 0.004);
}

TEST(TickAlignedWindows, WhatUnalignedWindowsWouldHaveGot) {
  // The same counter believed to be without ticks: half-second windows are off by up to a fifth.
  Simulation device = slow_counter();
  WindowOptions options;
  options.character = MeterCharacter{};
  options.window = Seconds(0.25);
  options.target_error = 1e-9;
  const WindowSummary summary = measure(device, options);
  double worst = 0;
  for (const Window& window : summary.windows) {
    worst = std::max(
        worst, std::abs(window.energy.value() / window.iterations / device.per_iteration().value() - 1));
  }
  EXPECT_GT(worst, 0.05);
}

TEST(TickAlignedWindows, PollingWouldHaveCostFarMore) {
  Simulation device = slow_counter();
  const Joules before = device.used;
  for (int i = 0; i < 300; ++i) {
    device.work()(1);
    device.read();
  }
  EXPECT_GT((device.used - before) / (device.per_iteration() * 300), 1.5);
}

TEST(TickAlignedWindows, UnevenTicksAreFollowed) {
  Simulation device = slow_counter();
  device.jitter = Seconds(0.002);
  const WindowSummary summary = measure(device);
  EXPECT_NEAR(summary.energy / device.per_iteration(), 1, 0.01);
  EXPECT_LT(summary.overhead, 0.01);
}

TEST(TickAlignedWindows, ACounterThatStopsTickingIsAnError) {
  Simulation device = slow_counter();
  ScriptedMeter meter([&] {
    const Reading reading = device.read();
    return device.time < Seconds(103) ? reading : Reading{Joules(1e6), device.time};
  });
  WindowOptions options;
  options.clock = device.clock();
  EXPECT_THROW(measure_windows(meter, device.work(), options), Error);
}

TEST(TickAlignedWindows, TheSecondOpinionIsComparedPerWindow) {
  Simulation device = slow_counter();
  ScriptedMeter meter = device.meter();
  meter.set_power([&] { return device.busy * 1.1; });
  WindowOptions options;
  options.clock = device.clock();
  const WindowSummary summary = measure_windows(meter, device.work(), options);
  ASSERT_TRUE(summary.discrepancy.has_value());
  EXPECT_NEAR(*summary.discrepancy, 0.1, 0.02);
}

}  // namespace
}  // namespace ampere

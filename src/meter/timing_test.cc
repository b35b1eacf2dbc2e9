#include "meter/timing.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "meter/simulation_for_test.h"

namespace ampere {
namespace {

TimingOptions options_for(Simulation& device) {
  TimingOptions options;
  options.clock = device.clock();
  return options;
}

TEST(Timing, ShortIterationsFillAWindow) {
  Simulation device;
  device.iteration = Seconds(1e-5);
  const Timing timing = measure_time(device.work(), options_for(device));
  EXPECT_NEAR(timing.time.value(), 1e-5, 1e-9);
  EXPECT_EQ(timing.windows, 5);
  EXPECT_TRUE(timing.stable);
  EXPECT_GE(timing.iterations, 5 * 250);
}

TEST(Timing, LongIterationsAreWindowsByThemselves) {
  Simulation device;
  device.iteration = Seconds(2);
  const Timing timing = measure_time(device.work(), options_for(device));
  EXPECT_NEAR(timing.time.value(), 2, 1e-9);
  EXPECT_EQ(timing.iterations, 5);
}

TEST(Timing, TheBudgetEndsWhatDoesNotSettle) {
  Simulation device;
  int round = 0;
  const Work work = [&](std::int64_t count) {
    device.iteration = Seconds(++round % 2 == 0 ? 0.004 : 0.009);
    device.work()(count);
  };
  const Timing timing = measure_time(work, options_for(device));
  EXPECT_FALSE(timing.stable);
  EXPECT_GE(timing.windows, 5);
  EXPECT_LE(timing.windows, 15);
}

TEST(Timing, ImpossibleOptionsAreRefused) {
  Simulation device;
  TimingOptions options = options_for(device);
  options.min_windows = 0;
  EXPECT_THROW(measure_time(device.work(), options), Error);
}

}  // namespace
}  // namespace ampere

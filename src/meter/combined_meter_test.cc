#include "meter/combined_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "meter/calibrate.h"
#include "meter/cpu_model_meter.h"
#include "meter/cpu_state.h"
#include "meter/fixture_for_test.h"
#include "meter/simulation_for_test.h"

namespace ampere {
namespace {

std::unique_ptr<Meter> scope(const char* name) {
  return std::make_unique<ScriptedMeter>([] { return Reading{Joules(1), Seconds(1)}; }, name);
}

std::unique_ptr<Meter> combine(const char* a, const char* b) {
  std::vector<std::unique_ptr<Meter>> parts;
  parts.push_back(scope(a));
  parts.push_back(scope(b));
  return make_combined_meter(std::move(parts));
}

TEST(CombinedMeter, AddsDisjointScopesAndRefusesOthers) {
  EXPECT_EQ(combine("gpu", "package")->info().scope, "gpu+package");
  EXPECT_EQ(combine("package", "gpu")->read().energy.value(), 2);
  EXPECT_NO_THROW(combine("gpu", "process"));
  const char* all[] = {"gpu", "package", "module", "board", "battery", "process"};
  for (const char* other : all) {
    EXPECT_THROW(combine(other, other), Error);
    EXPECT_THROW(combine("board", other), Error);
    EXPECT_THROW(combine(other, "module"), Error);
    EXPECT_THROW(combine("battery", other), Error);
  }
  EXPECT_THROW(combine("package", "process"), Error);
}

TEST(CombinedMeter, OneModelledPartMakesTheSumModelled) {
  std::vector<std::unique_ptr<Meter>> parts;
  parts.push_back(scope("gpu"));
  parts.push_back(make_cpu_model_meter(Watts(10)));
  const auto meter = make_combined_meter(std::move(parts));
  EXPECT_TRUE(meter->info().modelled);
  EXPECT_EQ(meter->info().name, "scripted+cpu-model");
}

TEST(CombinedMeter, TicksLikeItsSlowestPart) {
  Simulation device;
  device.tick = Seconds(0.1);
  device.read_cost = Seconds(0.002);
  std::vector<std::unique_ptr<Meter>> parts;
  parts.push_back(std::make_unique<ScriptedMeter>([&] { return device.read(); }, "gpu"));
  parts.push_back(std::make_unique<ScriptedMeter>(
      [&] {
        return Reading{device.used, device.time};
      },
      "package"));
  const auto meter = make_combined_meter(std::move(parts));
  WindowOptions options;
  options.clock = device.clock();
  const WindowSummary summary = measure_windows(*meter, device.work(), options);
  EXPECT_NEAR(summary.tick.value(), 0.1, 0.001);
  EXPECT_NEAR(summary.energy / (device.per_iteration() * 2), 1, 0.01);
}

TEST(MergedStates, AreTheWorstOfEach) {
  DeviceState a;
  a.temperature_c = 50;
  a.clock_mhz = 1900;
  a.power_limit = Watts(700);
  a.throttle = {"power cap"};
  DeviceState b;
  b.temperature_c = 60;
  b.clock_mhz = 1500;
  b.power_limit = Watts(300);
  b.throttle = {"power cap", "thermal"};
  const DeviceState merged = merge_states({a, b, {}});
  EXPECT_EQ(merged.temperature_c, 60);
  EXPECT_EQ(merged.clock_mhz, 1500);
  EXPECT_EQ(merged.power_limit->value(), 1000);
  EXPECT_THAT(merged.throttle, testing::ElementsAre("power cap", "thermal"));
}

TEST(CpuState, IsReadFromTheKernel) {
  const Fixture tree("intel_laptop");
  const DeviceState state = cpu_state(tree.root());
  EXPECT_EQ(state.temperature_c, 54);
  EXPECT_EQ(state.clock_mhz, 3400);
  EXPECT_NEAR(state.power_limit->value(), 28, 1e-9);
  EXPECT_FALSE(cpu_state("/nowhere").temperature_c.has_value());
}

TEST(Calibration, GivesEnergyPerSecondOfCpuTime) {
  Simulation device;  // 300 W while it works, with two cores busy
  ScriptedMeter real = device.meter();
  Seconds cpu_time;
  ScriptedMeter cpu([&] { return Reading{Watts(1) * cpu_time, device.time}; }, "process");
  WindowOptions options;
  options.clock = device.clock();
  const Work burn = [&](std::int64_t count) {
    device.work()(count);
    cpu_time += device.iteration * 2 * static_cast<double>(count);
  };
  EXPECT_NEAR(calibrate_cpu_watts(real, cpu, burn, options).value(), 150, 0.1);
  const auto modelled = make_cpu_model_meter(Watts(1));
  EXPECT_THROW(calibrate_cpu_watts(*modelled, cpu, burn, options), Error);
}

}  // namespace
}  // namespace ampere

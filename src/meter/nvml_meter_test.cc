#include "meter/nvml_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "meter/nvml_devices.h"
#include "meter/nvml_rig_for_test.h"
#include "meter/sampled_window.h"

namespace ampere {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string why_not(const std::string& wanted = "") {
  try {
    make_nvml_meter(wanted);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(NvmlMeter, SeveralGpusAreAddedUp) {
  NvmlRig rig;
  rig.driver().count = 3;
  const auto meter = make_nvml_meter("0,2");
  const Joules before = meter->read().energy;
  rig.driver().gpus[0].energy_mj += 1000;
  EXPECT_EQ(meter->read().energy, before);  // waits for the other's tick
  rig.driver().gpus[1].energy_mj += 50000;
  rig.driver().gpus[2].energy_mj += 3000;
  EXPECT_NEAR((meter->read().energy - before).value(), 4, 1e-9);
  EXPECT_NEAR(meter->power()->value(), 600, 1e-9);
}

TEST(NvmlMeter, CudaVisibleDevicesIsHonoured) {
  NvmlRig rig;
  rig.driver().count = 3;
  const Environment visible("CUDA_VISIBLE_DEVICES", "2,GPU-0a");
  EXPECT_EQ(make_nvml_meter("")->info().description, "energy counter of GPU 2 (Fake GPU), GPU 0 (Fake GPU)");
  EXPECT_EQ(make_nvml_meter("0")->info().description, "energy counter of GPU 2 (Fake GPU)");
  EXPECT_THAT(why_not("2"), HasSubstr("2 are visible"));
}

TEST(NvmlMeter, TellsTheStateOfTheDevice) {
  NvmlRig rig;
  rig.driver().gpus[0].throttle = 0x1 | 0x4 | 0x40;
  const DeviceState state = make_nvml_meter("")->state();
  EXPECT_EQ(state.temperature_c, 61);
  EXPECT_EQ(state.clock_mhz, 1980);
  EXPECT_NEAR(state.power_limit->value(), 700, 1e-9);
  EXPECT_THAT(state.throttle, ElementsAre("power cap", "hardware thermal"));
}

TEST(NvmlMeter, SamplesCarryTheClockOfReadings) {
  NvmlRig rig;
  EXPECT_THAT(make_nvml_meter("")->samples(), IsEmpty());
  const double day_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto second_ago = static_cast<unsigned long long>(1e6 * (day_s - 1));
  rig.driver().gpus[0].samples = {{second_ago, 250000}, {second_ago + 20000, 500000}};
  const auto meter = make_nvml_meter("");
  const std::vector<PowerSample> samples = meter->samples();
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_NEAR(samples[0].power.value(), 250, 1e-9);
  EXPECT_NEAR(samples[1].power.value(), 500, 1e-9);
  EXPECT_NEAR((samples[1].at - samples[0].at).value(), 0.02, 1e-6);
  EXPECT_LT(samples[1].at, meter->read().at);
  rig.driver().count = 2;
  EXPECT_THAT(make_nvml_meter("0,1")->samples(), IsEmpty());  // of several GPUs none tells the sum
}

// 300 W all the time: samples of it every 20 ms up to now, and a counter that ticks every 100 ms.
void draw_until_now(FakeGpu& gpu) {
  const auto now_us = static_cast<unsigned long long>(std::chrono::duration_cast<std::chrono::microseconds>(
                                                          std::chrono::system_clock::now().time_since_epoch())
                                                          .count());
  gpu.energy_mj = now_us / 100000 * 30000;
  gpu.samples.clear();
  for (int i = 119; i >= 0; --i)
    gpu.samples.push_back({now_us - 20000ull * static_cast<unsigned>(i), 300000});
}

TEST(NvmlMeter, ItsSamplesTellEnergyWithoutTicks) {
  NvmlRig rig;
  draw_until_now(rig.driver().gpus[0]);
  const auto meter = make_nvml_meter("");
  ASSERT_TRUE(sample_spacing(*meter));
  EXPECT_NEAR(sample_spacing(*meter)->value(), 0.02, 1e-6);
  WindowOptions options;
  options.min_ticks = 2;
  options.min_windows = 1;
  options.target_error = 0.05;
  options.character = MeterCharacter{};
  options.character->tick = Seconds(0.1);
  const Work work = [&](std::int64_t count) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * count));
    draw_until_now(rig.driver().gpus[0]);
  };
  const WindowSummary summary = measure_windows(*meter, work, options);
  EXPECT_TRUE(summary.sampled);
  EXPECT_TRUE(summary.stable);
  EXPECT_NEAR((summary.windows.front().energy / summary.windows.front().time).value(), 300, 1e-6);
}

TEST(NvmlMeter, SaysWhyNot) {
  NvmlRig rig;
  rig.driver().gpus[0].mig = 1;
  EXPECT_THAT(why_not(), HasSubstr("nvidia-smi -mig 0"));
  rig.driver().gpus[0].mig = 0;
  rig.driver().gpus[0].energy_result = 3;
  EXPECT_THAT(why_not(), HasSubstr("no energy counter"));
  rig.driver().count = 0;
  EXPECT_THAT(why_not(), HasSubstr("nvidia-smi -L"));
  rig.driver().init_result = 9;
  EXPECT_THAT(why_not(), HasSubstr("does not answer"));
  EXPECT_EQ(rig.driver().initialised, 0);
  const Environment missing("AMPERE_NVML_LIBRARY", "/nowhere/libnvidia-ml.so.1");
  EXPECT_THAT(why_not(), HasSubstr("--gpus all"));
}

TEST(VisibleGpus, FollowCudasRules) {
  const std::vector<GpuName> alike = {{"GPU-0a1", "A"}, {"GPU-1b2", "A"}, {"GPU-2c3", "A"}};
  EXPECT_THAT(visible_gpus(alike, nullptr, nullptr), ElementsAre(0, 1, 2));
  EXPECT_THAT(visible_gpus(alike, "", nullptr), IsEmpty());
  EXPECT_THAT(visible_gpus(alike, "2,0", nullptr), ElementsAre(2, 0));
  EXPECT_THAT(visible_gpus(alike, "1,7,0", nullptr), ElementsAre(1));
  EXPECT_THAT(visible_gpus(alike, "-1,0", nullptr), IsEmpty());
  EXPECT_THAT(visible_gpus(alike, "GPU-1b,GPU-0a1", nullptr), ElementsAre(1, 0));
  EXPECT_THROW(visible_gpus(alike, "MIG-1234", nullptr), Error);

  const std::vector<GpuName> mixed = {{"GPU-0a1", "A"}, {"GPU-1b2", "B"}};
  EXPECT_THROW(visible_gpus(mixed, "0", nullptr), Error);
  EXPECT_THAT(visible_gpus(mixed, "0", "PCI_BUS_ID"), ElementsAre(0));
  EXPECT_THAT(visible_gpus(mixed, "GPU-1", nullptr), ElementsAre(1));
}

}  // namespace
}  // namespace ampere

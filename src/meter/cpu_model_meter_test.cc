#include "meter/cpu_model_meter.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "meter/environment_for_test.h"

namespace ampere {
namespace {

void burn_cpu() {
  volatile double sum = 0;
  for (int i = 0; i < 2000000; ++i) sum = sum + 1.0 / (i + 1);
}

TEST(CpuModelMeter, EnergyGrowsWithWorkAndSaysModelled) {
  const auto meter = make_cpu_model_meter(Watts(10));
  EXPECT_TRUE(meter->info().modelled);
  const Reading before = meter->read();
  burn_cpu();
  const Reading after = meter->read();
  EXPECT_GT(after.energy, before.energy);
  EXPECT_GE(after.at, before.at);
}

TEST(CpuModelMeter, EnergyIsProportionalToTheWatts) {
  // CPU time goes on between the two reads, so the doubled figure is read first.
  const Joules doubled = make_cpu_model_meter(Watts(20))->read().energy;
  const Joules single = make_cpu_model_meter(Watts(10))->read().energy;
  EXPECT_LE(doubled.value(), 2 * single.value());
  EXPECT_GT(doubled, single);
}

TEST(CpuModelMeter, WattsComeFromTheEnvironment) {
  const Environment watts("AMPERE_CPU_WATTS", "12.5");
  EXPECT_DOUBLE_EQ(cpu_watts_from_environment().value(), 12.5);
}

TEST(CpuModelMeter, RefusesNonsense) {
  for (const char* text : {"0", "-3", "nan", "inf", "ten", "5W", "1e9"}) {
    const Environment watts("AMPERE_CPU_WATTS", text);
    EXPECT_THROW(cpu_watts_from_environment(), Error) << text;
  }
  const Environment unset("AMPERE_CPU_WATTS", "");
  EXPECT_DOUBLE_EQ(cpu_watts_from_environment().value(), kDefaultWattsPerCore);
  EXPECT_THROW(make_cpu_model_meter(Watts(0)), Error);
}

}  // namespace
}  // namespace ampere

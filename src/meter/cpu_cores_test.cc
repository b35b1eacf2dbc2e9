#include "meter/cpu_cores.h"

#include <gtest/gtest.h>

#include "meter/fixture_for_test.h"

namespace ampere {
namespace {

void add_core(Fixture& tree, int number, long long kilohertz, long long capacity,
              const std::string& governor) {
  const std::string folder = "devices/system/cpu/cpu" + std::to_string(number) + "/";
  tree.set(folder + "cpufreq/cpuinfo_max_freq", kilohertz);
  tree.set(folder + "cpufreq/scaling_governor", governor);
  if (capacity > 0) tree.set(folder + "cpu_capacity", capacity);
}

TEST(CpuCores, OfABigLittleChipAreToldApart) {
  Fixture phone("");
  for (int i = 0; i < 4; ++i) add_core(phone, i, 1803000, 250, "sched_pixel");
  for (int i = 4; i < 6; ++i) add_core(phone, i, 2348000, 620, "sched_pixel");
  for (int i = 6; i < 8; ++i) add_core(phone, i, 2850000, 1024, "sched_pixel");
  phone.set("devices/system/cpu/cpufreq/policy0/scaling_governor", "other");
  const CpuCores all = cpu_cores(phone.root());
  EXPECT_EQ(all.kinds, "2x 2850 MHz capacity 1024, 2x 2348 MHz capacity 620, 4x 1803 MHz capacity 250");
  EXPECT_EQ(all.governor, "sched_pixel");
  EXPECT_EQ(cpu_cores(phone.root(), {0, 1}).kinds, "2x 1803 MHz capacity 250");
}

TEST(CpuCores, ClustersMayHaveDifferentGovernors) {
  Fixture board("");
  add_core(board, 0, 2000000, 0, "schedutil");
  add_core(board, 1, 1500000, 0, "performance");
  EXPECT_EQ(cpu_cores(board.root()).governor, "performance, schedutil");
  EXPECT_EQ(cpu_cores(board.root()).kinds, "1x 2000 MHz, 1x 1500 MHz");
}

TEST(CpuCores, OfAMachineThatSaysNothingAreEmpty) {
  Fixture machine("");
  const CpuCores cores = cpu_cores(machine.root());
  EXPECT_EQ(cores.kinds, "");
  EXPECT_EQ(cores.governor, "");
}

TEST(CpuCores, OfThisProcessAreSome) { EXPECT_FALSE(allowed_cores().empty()); }

}  // namespace
}  // namespace ampere

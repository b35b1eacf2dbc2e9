#include "meter/rapl_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "meter/fixture_for_test.h"
#include "meter/wrapping_counter.h"

namespace ampere {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RaplMeter, CountsAPackageOnceAndNeverPsys) {
  Fixture tree("intel_laptop");
  const auto meter = make_rapl_meter(tree.root());
  EXPECT_EQ(meter->info().scope, "package");
  EXPECT_THAT(meter->info().description, HasSubstr("package-0"));
  EXPECT_THAT(meter->info().description, Not(HasSubstr("psys")));
  const Joules before = meter->read().energy;
  tree.set("class/powercap/intel-rapl:0/energy_uj", 52847561230 + 3000000);
  tree.set("class/powercap/intel-rapl-mmio:0/energy_uj", 52847561200 + 3000000);
  tree.set("class/powercap/intel-rapl:1/energy_uj", 92847561230 + 9000000);    // psys
  tree.set("class/powercap/intel-rapl:0:0/energy_uj", 31847561230 + 2000000);  // core, inside the package
  EXPECT_NEAR((meter->read().energy - before).value(), 3, 1e-9);
}

TEST(RaplMeter, MmioIsUsedWhereItIsAlone) {
  Fixture tree("intel_laptop");
  tree.remove("class/powercap/intel-rapl:0");
  const auto meter = make_rapl_meter(tree.root());
  const Joules before = meter->read().energy;
  tree.set("class/powercap/intel-rapl-mmio:0/energy_uj", 52847561200 + 3000000);
  EXPECT_NEAR((meter->read().energy - before).value(), 3, 1e-9);
}

TEST(RaplMeter, PsysAloneIsTheBoard) {
  Fixture tree("intel_laptop");
  tree.remove("class/powercap/intel-rapl:0");
  tree.remove("class/powercap/intel-rapl-mmio:0");
  EXPECT_EQ(make_rapl_meter(tree.root())->info().scope, "board");
}

TEST(RaplMeter, AddsPackagesAndTheirMemoryAcrossWraps) {
  Fixture tree("intel_server");
  const auto meter = make_rapl_meter(tree.root());
  const Joules before = meter->read().energy;
  tree.set("class/powercap/intel-rapl:0/energy_uj", 671150);     // 262143328850 - 262143000000 + 671150 = 1 J
  tree.set("class/powercap/intel-rapl:0:0/energy_uj", 1000387);  // 65712999613 - 65712000000 + 1000387 = 2 J
  tree.set("class/powercap/intel-rapl:1/energy_uj", 1204000000);    // 4 J
  tree.set("class/powercap/intel-rapl:1:0/energy_uj", 2208000000);  // 8 J
  EXPECT_NEAR((meter->read().energy - before).value(), 15, 1e-9);
}

TEST(RaplMeter, PackageAndCoreOnAmd) {
  const Fixture tree("amd_desktop");
  EXPECT_EQ(make_rapl_meter(tree.root())->info().description, "RAPL counters of package-0");
}

std::string why_not(const std::filesystem::path& root) {
  try {
    make_rapl_meter(root);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RaplMeter, SaysTheFix) {
  Fixture tree("intel_laptop");
  tree.deny("class/powercap/intel-rapl:0/energy_uj");
  {
    const NotRoot user;
    EXPECT_THAT(why_not(tree.root()), HasSubstr("sudo chmod a+r /sys/class/powercap/intel-rapl*/energy_uj"));
  }
  EXPECT_THAT(why_not("/nowhere"), HasSubstr("cpu-model"));
  Fixture garbage("amd_desktop");
  garbage.set("class/powercap/intel-rapl:0/energy_uj", "much");
  EXPECT_THAT(why_not(garbage.root()), HasSubstr("'much'"));
}

TEST(WrappingCounter, TellsAWrapFromAReset) {
  WrappingCounter counter(1000000000, "test");
  counter.update(999000000, Seconds(0));
  counter.update(500000, Seconds(0.1));
  EXPECT_NEAR(counter.total().value(), 1.5, 1e-9);
  counter.update(400000000, Seconds(10));
  EXPECT_THROW(counter.update(5, Seconds(10.001)), Error);
}

}  // namespace
}  // namespace ampere

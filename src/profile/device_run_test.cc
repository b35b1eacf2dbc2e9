#include "profile/device_run.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "network/cost.h"
#include "profile/synthetic_device_for_test.h"
#include "profile/zoo_population.h"

namespace ampere {
namespace {

class DeviceRunTest : public testing::Test {
 protected:
  DeviceRunTest()
      : path_(file()),
        store_(path_),
        profile_(store_, store_.add_device({{"name", "synthetic"}, {"type", "cpu"}}), "sgd-fp32-t1") {}
  ~DeviceRunTest() override { std::filesystem::remove(path_); }

  static std::string file() {
    const std::string path = testing::TempDir() + "ampere_device_run_test.db";
    std::filesystem::remove(path);
    return path;
  }
  // Ends after so many layers, as somebody who has seen enough would.
  DeviceSummary run(int layers, std::uint64_t seed = 1) {
    struct Enough {};
    DeviceRunOptions options;
    options.seconds = 3600;
    options.seed = seed;
    DeviceSummary last;
    options.progress = [&](const DeviceSummary& so_far, double left_s, const std::string& layer) {
      EXPECT_GT(left_s, 0);
      EXPECT_FALSE(layer.empty());
      last = so_far;
      if (so_far.measured >= layers) throw Enough{};
    };
    try {
      measure_device(
          profile_, [this](const MeasureRequest& r) { return device_(r); }, options);
    } catch (const Enough&) {
    }
    return last;
  }

  std::string path_;
  Store store_;
  DeviceProfile profile_;
  SyntheticDevice device_;
};

TEST_F(DeviceRunTest, LayersAreMeasuredOnceEachAtTheirOwnChannels) {
  EXPECT_EQ(run(10).measured, 10);
  int points = 0;
  for (const SurfaceCount& s : store_.surfaces(profile_.device())) {
    if (s.surface.purpose == Purpose::kEmpty) continue;
    EXPECT_EQ(s.surface.purpose, Purpose::kProbe) << s.surface.name;
    points += s.points;
  }
  EXPECT_EQ(points, 10);
}

TEST_F(DeviceRunTest, ARunGoesOnWhereTheOneBeforeWasStopped) {
  run(12);
  const int before = device_.measured;
  const DeviceSummary second = run(12);
  EXPECT_GE(second.known, 12);
  EXPECT_EQ(device_.measured - before, 12) << "nothing is measured twice, nor is the empty iteration";
}

TEST_F(DeviceRunTest, WhatDoesNotFitIsLeftOut) {
  device_.before = [](const MeasureRequest& r) {
    if (r.batch > 16) throw Error(ErrorKind::kOutOfMemory, "too large");
  };
  const DeviceSummary some = run(10);
  EXPECT_EQ(some.measured, 10);
  EXPECT_GT(some.refused, 0);
  device_.before = [](const MeasureRequest&) { throw Error(ErrorKind::kWorker, "died"); };
  EXPECT_THROW(run(1), Error);
}

TEST_F(DeviceRunTest, EndsWhenTheTimeIsOver) {
  DeviceRunOptions options;
  options.seconds = 2;  // a slow machine draws its networks for most of a second
  const DeviceSummary done = measure_device(
      profile_, [this](const MeasureRequest& r) { return device_(r); }, options);
  EXPECT_GT(done.measured, 0);
  EXPECT_TRUE(done.modelled);
  EXPECT_LE(done.measured + done.known, done.candidates);
}

TEST(ZooPopulation, IsTheSameForTheSameSeed) {
  const auto words = [](std::uint64_t seed) {
    std::vector<std::string> out;
    for (const DrawnNetwork& d : draw_networks(20, seed, 1e11))
      out.push_back(to_text(d.choice) + "@" + std::to_string(d.batch));
    return out;
  };
  EXPECT_EQ(words(3).size(), 20u);
  EXPECT_EQ(words(3), words(3));
  EXPECT_NE(words(3), words(4));
}

TEST(ZooPopulation, KeepsToWhatADeviceCanDo) {
  for (const DrawnNetwork& d : draw_networks(40, 5, 1e10))
    EXPECT_LE(network_cost(build(d.choice), d.batch).flops(), 1e10);
  EXPECT_TRUE(draw_networks(5, 1, 1).empty());
}

}  // namespace
}  // namespace ampere

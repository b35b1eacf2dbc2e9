#include "model/relative.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "model/work_model.h"

namespace ampere {
namespace {

Json card(const std::string& driver, const std::string& name = "NVIDIA H200") {
  return {
      {"name", name}, {"type", "cuda"}, {"driver", driver}, {"framework", "torch 2.11"}, {"meter", "nvml"}};
}

void measure(Store& store, const std::string& device, double seconds) {
  Measurement m;
  m.time_s = seconds;
  m.energy_j = 300 * seconds;
  m.mode = "replay";
  m.meter = "nvml";
  m.windows = m.iterations = 1;
  store.add_point(device, "captured-default-t1", empty_surface(), {"", {0, 0}, "{}", m, ""});
}

TEST(Relative, SisterCardsShareAFingerprintAndStayApart) {
  Store here(":memory:"), there(":memory:");
  const std::string device = here.add_device(card("580"));
  measure(there, there.add_device(card("580")), 1e-5);
  const TakenOver taken = take_over(here, device, there, "");
  EXPECT_TRUE(taken.relative.sister);
  EXPECT_EQ(taken.points, 1);
  EXPECT_NE(taken.relative.device, device);
  EXPECT_TRUE(here.surfaces(device).empty());
  EXPECT_EQ(here.surfaces(taken.relative.device).size(), 1u);
  EXPECT_EQ(relative_of(here, device)->device, taken.relative.device);
  take_over(here, device, there, "");  // again: nothing twice
  EXPECT_EQ(here.surfaces(taken.relative.device).front().points, 1);
}

TEST(Relative, WhatWasMeasuredHereIsNoNewsFromElsewhere) {
  const std::string path = ::testing::TempDir() + "relative_own.db";
  const std::string copy = ::testing::TempDir() + "relative_own_copy.db";
  for (const std::string& p : {path, copy}) std::filesystem::remove(p);
  {
    Store here(path);
    measure(here, here.add_device(card("580")), 1e-5);
  }
  std::filesystem::copy_file(path, copy);
  Store here(path);
  const std::string device = here.devices().front().id;
  // The same file under another name, and a copy of it.
  const auto another = std::filesystem::path(path).parent_path() / "." / "relative_own.db";
  EXPECT_THROW(take_over(here, device, Store(another.string()), ""), Error);
  EXPECT_THROW(take_over(here, device, Store(copy), ""), Error);
  EXPECT_EQ(here.devices().size(), 1u);
  EXPECT_FALSE(relative_of(here, device));
  Store grown(copy);
  measure(grown, device, 2e-5);
  EXPECT_EQ(take_over(here, device, grown, "").points, 1);
}

TEST(Relative, OfAStoreWithSeveralDevicesTheSameHardwareTeaches) {
  Store here(":memory:"), there(":memory:");
  const std::string device = here.add_device(card("580"));
  const std::string taught = there.add_device(card("570"));
  measure(there, taught, 1e-5);
  there.put_fact(taught, "", "relative", {{"device", "0123"}, {"sister", true}});
  measure(there, there.add_device(card("580", "NVIDIA A40")), 1e-5);
  const TakenOver taken = take_over(here, device, there, "");
  EXPECT_FALSE(taken.relative.sister);
  EXPECT_FALSE(relative_of(here, taken.relative.device));  // that is about devices of the other store
}

TEST(Relative, OtherSoftwareIsToldApartAndOtherHardwareIsRefused) {
  Store here(":memory:"), there(":memory:");
  const std::string device = here.add_device(card("590"));
  measure(there, there.add_device(card("580")), 1e-5);
  EXPECT_FALSE(take_over(here, device, there, "").relative.sister);
  Store other(":memory:");
  measure(other, other.add_device(card("580", "NVIDIA A40")), 1e-5);
  EXPECT_THROW(take_over(here, device, other, ""), Error);
  EXPECT_THROW(take_over(here, device, there, "ffff"), Error);
  EXPECT_THROW(take_over(here, device, Store(":memory:"), ""), Error);
}

// A card that draws a tenth more than the one that taught: three measurements tell it.
TEST(Relative, AHandfulOfMeasurementsTellsHowCardsDiffer) {
  const auto call = [](double rows) {
    OpWork work;
    work.family = OpFamily::kPointwise;
    work.name = "plain";
    work.flops = work.rows = rows;
    work.bytes = 8 * rows;
    return std::vector<CountedWork>{{work, 1}};
  };
  std::vector<MeasuredWork> seen;
  for (int i = 0; i < 12; ++i) {
    const double rows = std::exp2(14 + i), seconds = 2e-6 + rows * 3e-12;
    MeasuredWork m{std::to_string(i), call(rows), seconds,      0.005,
                   300 * seconds,     0.01,       std::nullopt, Where::kElsewhere};
    seen.push_back(m);
    if (i != 6 && i != 9 && i != 11) continue;
    m.where = Where::kHere;
    m.energy_j = 330 * seconds;
    seen.push_back(m);
  }
  const WorkModel model(seen, true, sister_card());
  const WorkCosts costs = model.at({{"asked", call(std::exp2(22))}});
  const double seconds = 2e-6 + std::exp2(22) * 3e-12;
  EXPECT_NEAR(costs.energy_j(0) / (330 * seconds), 1, 0.04);
  const WorkModel alone(std::vector<MeasuredWork>(seen.begin(), seen.begin() + 6), true, sister_card());
  EXPECT_GT(alone.at({{"asked", call(std::exp2(22))}}).energy_covariance(0, 0),
            costs.energy_covariance(0, 0));
}

}  // namespace
}  // namespace ampere

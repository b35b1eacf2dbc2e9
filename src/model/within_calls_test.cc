#include "model/within_calls.h"

#include <gtest/gtest.h>

namespace ampere {
namespace {

std::vector<CountedWork> product(double rows, const std::string& name = "single") {
  OpWork work;
  work.family = OpFamily::kProduct;
  work.name = name;
  work.rows = rows;
  work.columns = work.depth = 512;
  work.flops = 2 * rows * 512 * 512;
  work.bytes = 4 * (2 * rows * 512 + 512 * 512);
  return {{work, 1}};
}

Measurement taking(double time_s) {
  Measurement m;
  m.time_s = time_s;
  m.time_error = 0.02;
  return m;
}

TEST(WithinCalls, TheSameWorkIsOneByItsMean) {
  WithinCalls calls(true);
  calls.add(product(64), taking(1e-5));
  calls.add(product(64), taking(4e-5));
  const std::vector<MeasuredWork> all = calls.take(10);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NEAR(all[0].time_s, 2e-5, 1e-9);
  EXPECT_FALSE(all[0].energy_j);
}

TEST(WithinCalls, AnotherPrecisionTellsNothing) {
  const auto measured = [](int element_bytes) {
    MeasuredWork m;
    m.works = product(64);
    m.works[0].work.element_bytes = element_bytes;
    return m;
  };
  EXPECT_TRUE(any_tells({measured(4)}, Computes::kFloat));
  EXPECT_FALSE(any_tells({measured(4)}, Computes::kHalf));
  EXPECT_TRUE(any_tells({measured(2)}, Computes::kHalf));
  EXPECT_FALSE(any_tells({measured(2)}, Computes::kFloat));
  EXPECT_TRUE(any_tells({measured(2), measured(4)}, Computes::kFloat));
}

TEST(WithinCalls, TakesWhatIsFarApartFirst) {
  WithinCalls calls(true);
  for (const double rows : {1000.0, 1001.0, 1002.0, 1003.0, 64000.0}) calls.add(product(rows), taking(1e-4));
  calls.add(product(1000, "batched"), taking(1e-4));
  const std::vector<MeasuredWork> some = calls.take(3);
  ASSERT_EQ(some.size(), 3u);
  bool large = false, batched = false;
  for (const MeasuredWork& m : some) {
    large = large || m.works[0].work.rows == 64000;
    batched = batched || m.works[0].work.name == "batched";
  }
  EXPECT_TRUE(large);
  EXPECT_TRUE(batched);
}

TEST(WithinCalls, AllOfThemWhereTheyFit) {
  WithinCalls calls(true);
  for (int i = 1; i <= 20; ++i) calls.add(product(100.0 * i), taking(1e-5 * i));
  EXPECT_EQ(calls.take(100).size(), 20u);
  EXPECT_TRUE(WithinCalls(false).take(5).empty());
}

TEST(WithinCalls, ANetworkIsToldByItsOwnPrecision) {
  std::vector<CountedWork> half = product(64), pointwise = product(64);
  half[0].work.element_bytes = 2;
  pointwise[0].work.family = OpFamily::kPointwise;
  WithinCalls calls(true);
  for (const auto& works : {product(64), half, pointwise}) calls.add(works, taking(1e-5));
  EXPECT_EQ(calls.count(Computes::kFloat), 2u);
  EXPECT_EQ(calls.count(Computes::kHalf), 2u);
  calls.keep(Computes::kHalf);
  for (const MeasuredWork& m : calls.take(10))
    EXPECT_TRUE(m.works[0].work.element_bytes == 2 || m.works[0].work.family == OpFamily::kPointwise);
}

}  // namespace
}  // namespace ampere

#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ampere {
namespace {

TEST(Statistics, Median) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Statistics, OneWildValueDoesNotMoveTheRobustDeviation) {
  std::vector<double> values = {9, 10, 11, 9, 10, 11, 9, 10, 11, 1000};
  EXPECT_LT(robust_deviation(values), 2);
  EXPECT_EQ(count_outliers(values), 1);
}

TEST(Statistics, ErrorOfTheMedian) {
  EXPECT_TRUE(std::isinf(relative_error_of_median({1})));
  EXPECT_EQ(relative_error_of_median({2, 2, 2}), 0);
  EXPECT_NEAR(relative_error_of_median({9, 10, 11}), 1.2533 / std::sqrt(3) / 10, 1e-12);
}

}  // namespace
}  // namespace ampere

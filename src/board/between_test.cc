#include "board/between.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ampere {
namespace {

TEST(Between, IsAsRecordedAndStraightInBetween) {
  // Of the two ways to cut this square with a point in the middle into triangles, one has empty circles.
  const Between between({{0, 0, 1}, {10, 0, 2}, {0, 10, 3}, {10, 10, 4}, {4, 5, 10}});
  EXPECT_EQ(between(4, 5), 10);
  EXPECT_EQ(between(10, 0), 2);
  EXPECT_NEAR(between(5, 0), 1.5, 1e-12);
  EXPECT_NEAR(between(2, 2.5), 5.5, 1e-12);  // halfway from a corner to the middle
  EXPECT_NEAR(between(7, 5), 6.5, 1e-12);    // halfway to the side where 3 is the mean
}

TEST(Between, APlaneIsAPlane) {
  std::vector<Recorded> places;
  for (int i = 0; i < 40; ++i) {
    const double x = (i * 37) % 61, y = (i * 53) % 47;
    places.push_back({x, y, 3 * x - 2 * y + 5});
  }
  const Between between(places);
  for (int i = 10; i < 35; ++i) EXPECT_NEAR(between(i, 45 - i), 3 * i - 2 * (45 - i) + 5, 1e-9);
}

TEST(Between, OutsideIsAsAtTheNearestEdge) {
  const Between between({{0, 0, 1}, {10, 0, 3}, {5, 8, 9}});
  EXPECT_NEAR(between(5, -7), 2, 1e-9);
  EXPECT_EQ(between(-3, -3), 1);
}

TEST(Between, OneLineIsEnough) {
  const Between between({{7, 1, 10}, {7, 3, 20}, {7, 11, 60}, {7, 11, 80}});  // the last one twice
  EXPECT_NEAR(between(7, 2), 15, 1e-12);
  EXPECT_NEAR(between(7, 7), 45, 1e-12);
  EXPECT_EQ(between(7, 11), 70);
  EXPECT_EQ(between(7, 20), 70);
  EXPECT_EQ(Between({{1, 1, 4}})(9, 9), 4);
}

TEST(Between, IsNotTornOnAGrid) {
  std::vector<Recorded> places;
  for (int x = 0; x < 5; ++x) {
    for (int y = 0; y < 5; ++y) places.push_back({1.0 * x, 1.0 * y, 1.0 * x * y});
  }
  const Between between(places);
  for (int i = 1; i < 390; ++i) {
    const double at = 0.01 * i;
    EXPECT_NEAR(between(at, 1.53), between(at + 1e-6, 1.53), 1e-4) << at;
    EXPECT_NEAR(between(2.47, at), between(2.47, at + 1e-6), 1e-4) << at;
  }
}

TEST(Between, NothingIsRefused) { EXPECT_THROW(Between({}), Error); }

}  // namespace
}  // namespace ampere

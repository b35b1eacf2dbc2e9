#include "profile/curriculum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ampere {
namespace {

OpWork product(double size) {
  OpWork w;
  w.family = OpFamily::kProduct;
  w.name = "single";
  w.rows = w.columns = w.depth = size;
  w.flops = 2 * size * size * size;
  w.bytes = 12 * size * size;
  return w;
}

OpWork copy(double elements) {
  OpWork w;
  w.family = OpFamily::kCopy;
  w.name = "copy";
  w.rows = elements;
  w.bytes = 8 * elements;
  return w;
}

TEST(Curriculum, BeginsWithWhatNetworksAreMadeOf) {
  const std::vector<MeasurableWork> candidates = {
      {{{copy(100), 1}}}, {{{product(4096), 1}}}, {{{copy(200), 1}}}};
  const std::vector<PopulationSum> population = {{{0, 1}, {1, 10}, {2, 1}}, {{1, 5}, {2, 2}}};
  const std::vector<int> order = curriculum(candidates, population, believed_roof(true), 10);
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order.front(), 1);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 3u);
}

TEST(Curriculum, LeavesWhatIsKnownAndPaysForSeconds) {
  std::vector<MeasurableWork> candidates;
  std::vector<PopulationSum> population(1);
  for (int i = 0; i < 6; ++i) {
    candidates.push_back({{{product(256 << i), 1}}});
    population[0].push_back({i, 1.0 / (1 << 3 * i)});  // each as much of the network's time
  }
  candidates[5].known = true;
  const std::vector<int> order = curriculum(candidates, population, believed_roof(true), 3);
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(std::count(order.begin(), order.end(), 5), 0);
  EXPECT_NE(order.front(), 4);  // its neighbour tells it
  candidates[static_cast<std::size_t>(order.front())].seconds = 100;
  EXPECT_NE(curriculum(candidates, population, believed_roof(true), 1).front(), order.front());
}

TEST(Curriculum, OfNothingIsEmpty) {
  EXPECT_TRUE(curriculum({}, {}, believed_roof(true), 5).empty());
  EXPECT_TRUE(curriculum({{{{copy(8), 1}}}}, {}, believed_roof(true), 5).empty());
}

}  // namespace
}  // namespace ampere

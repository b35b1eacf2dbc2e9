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

const WorkModel& nothing_known() {
  static const WorkModel model({}, true);
  return model;
}

MeasurableWork candidate(const OpWork& work) {
  return {{work.name + std::to_string(work.rows), {{work, 1}}}};
}

MeasuredWork measured(const OpWork& work, double time_s, std::optional<double> power_w) {
  MeasuredWork m;
  m.place = "measured " + work.name + std::to_string(work.rows);
  m.works = {{work, 1}};
  m.time_s = time_s;
  if (power_w) m.energy_j = *power_w * time_s;
  return m;
}

TEST(Curriculum, BeginsWithWhatNetworksAreMadeOf) {
  const std::vector<MeasurableWork> candidates = {candidate(copy(100)), candidate(product(4096)),
                                                  candidate(copy(200))};
  const std::vector<PopulationSum> population = {{{0, 1}, {1, 10}, {2, 1}}, {{1, 5}, {2, 2}}};
  const std::vector<int> order = curriculum(candidates, population, nothing_known(), 10);
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order.front(), 1);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 3u);
}

TEST(Curriculum, LeavesWhatIsKnownAndWhatAsksForNothing) {
  std::vector<MeasurableWork> candidates = {
      candidate(product(512)), candidate(product(1024)), {{"views", {}}}};
  candidates[0].known = true;
  EXPECT_EQ(curriculum(candidates, {{{0, 1}, {1, 1}, {2, 1}}}, nothing_known(), 3), std::vector<int>{1});
}

TEST(Curriculum, PaysForSeconds) {
  // Two that are as much of the network, one of which takes a hundred times as long.
  const std::vector<MeasurableWork> candidates = {candidate(product(32768)), candidate(product(4096))};
  EXPECT_EQ(curriculum(candidates, {{{0, 1}, {1, 512}}}, nothing_known(), 1).front(), 1);
}

TEST(Curriculum, MetersWhatWasOnlyTimed) {
  // Both kinds were timed at all sizes, but the energy of copies alone is known.
  std::vector<MeasuredWork> seen;
  for (int i = 0; i < 8; ++i) {
    seen.push_back(measured(product(512 << i % 4), 1e-3 * (1 << 3 * (i % 4)), std::nullopt));
    seen.push_back(measured(copy(1e6 * (1 << i % 4)), 1e-3 * (1 << i % 4), 300));
  }
  const WorkModel model(seen, true);
  const std::vector<MeasurableWork> candidates = {candidate(copy(3e6)), candidate(product(1500))};
  const WorkBelief belief = model.believed({candidates[0].work, candidates[1].work});
  const std::vector<PopulationSum> half_each = {{{0, 1 / belief.time_s(0)}, {1, 1 / belief.time_s(1)}}};
  EXPECT_EQ(curriculum(candidates, half_each, model, 1).front(), 1);
}

TEST(Curriculum, OfNothingIsEmpty) {
  EXPECT_TRUE(curriculum({}, {}, nothing_known(), 5).empty());
  EXPECT_TRUE(curriculum({candidate(copy(8))}, {}, nothing_known(), 5).empty());
}

}  // namespace
}  // namespace ampere

#include "profile/guided.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/surface_model.h"
#include "network/zoo.h"
#include "profile/jumps.h"

namespace ampere {
namespace {

// A guided loop over a made-up surface; returns what was measured, in order.
std::vector<Channels> walk(Surface surface, const Domain& domain, const GuidedOptions& options,
                           StopWhy* why) {
  std::vector<Channels> order;
  std::set<Channels> measured;
  std::vector<Observation> seen;
  const auto layers = parse_layers(build(parse_zoo("cnn5")), 2);
  const CostPolynomial cost(layers[1].kind, true);
  for (int guard = 0; guard < 1000; ++guard) {
    std::unique_ptr<SurfaceModel> model;
    if (seen.size() >= corner_count(surface, domain, options)) {
      model = std::make_unique<SurfaceModel>(seen, surface, cost, default_surface_options());
    }
    const NextPoint next = next_point(
        surface, domain, measured, {},
        model ? [&](const std::vector<Channels>& at) { return model->relative_deviation(at); } : Deviations{},
        options);
    *why = next.why;
    if (!next.channels) return order;
    EXPECT_TRUE(measured.insert(*next.channels).second) << "the same point twice";
    order.push_back(*next.channels);
    // Bumpy enough to keep the process uncertain.
    const auto i = static_cast<double>(next.channels->in);
    const auto o = static_cast<double>(next.channels->out);
    seen.push_back(
        {*next.channels, 1 + 0.3 * std::sin(i * 1.7) + 0.2 * std::cos(o * 2.3) + i * o * 1e-3, 0.01});
  }
  ADD_FAILURE() << "the loop did not end";
  return order;
}

TEST(Guided, SpreadsPointsOverTypicalPlaces) {
  GuidedOptions options;
  options.spread_of_three = 3;
  const Domain domain{{1, 64, 1}, {1, 64, 1}};
  std::set<Channels> measured = {{1, 1}, {64, 64}, {1, 64}, {64, 1}};
  const std::vector<Channels> typical = {{9, 9}, {30, 30}};
  const auto unsure = [](const std::vector<Channels>& at) {
    return Eigen::VectorXd(Eigen::VectorXd::Ones(static_cast<Eigen::Index>(at.size())));
  };
  for (const Channels& place : typical) {
    const NextPoint next = next_point(Surface::kInOut, domain, measured, {}, unsure, options, typical);
    ASSERT_EQ(next.channels, place);
    measured.insert(place);
  }
  // When they are all known, the rest of the domain.
  EXPECT_TRUE(next_point(Surface::kInOut, domain, measured, {}, unsure, options, typical).channels);
}

TEST(Jumps, HalvesTheGapBetweenNeighboursThatDiffer) {
  const Domain line{{1, 101, 1}, {10, 10, 1}};
  const std::vector<Channels> places = {{1, 10}, {51, 10}, {101, 10}};
  EXPECT_EQ(between_jump(Surface::kIn, line, places, Eigen::Vector3d(0, 0, 1), {}, 0.25), (Channels{76, 10}));
  EXPECT_EQ(between_jump(Surface::kIn, line, places, Eigen::Vector3d(0, 0.1, 0.2), {}, 0.25), std::nullopt);
  // The ends are no neighbours: the point between them has been seen.
  EXPECT_EQ(between_jump(Surface::kIn, line, places, Eigen::Vector3d(0, 0.2, 0.4), {}, 0.25), std::nullopt);
  EXPECT_EQ(between_jump(Surface::kIn, line, places, Eigen::Vector3d(0, 0, 1), {{76, 10}}, 0.25),
            std::nullopt);
  const Domain plane{{4, 64, 4}, {8, 128, 8}};
  const auto corner = between_jump(Surface::kInOut, plane, {{4, 8}, {64, 8}, {4, 128}, {64, 128}},
                                   Eigen::Vector4d(0, 0, 0, 1.4), {}, 0.25);
  ASSERT_TRUE(corner);
  EXPECT_EQ(corner->in % 4, 0);
  EXPECT_EQ(corner->out % 8, 0);
}

// A region that only one point has hit, with ordinary ones close by on one side: the other sides are looked
// at too.
TEST(Jumps, FollowsARegionInAllDirections) {
  const Domain plane{{1, 400, 1}, {1, 120, 1}};
  const auto dear = [](Channels c) { return c.in > 70 && c.in < 190 && c.out > 95; };
  std::vector<Channels> places = {{1, 1},    {400, 120}, {1, 120},  {400, 1},  {176, 98}, {213, 112},
                                  {101, 81}, {63, 89},   {26, 107}, {163, 63}, {5, 120},  {148, 91},
                                  {51, 54},  {276, 58},  {313, 49}, {251, 94}};
  for (int step = 0; step < 16; ++step) {
    Eigen::VectorXd residuals(static_cast<Eigen::Index>(places.size()));
    for (std::size_t i = 0; i < places.size(); ++i)
      residuals(static_cast<Eigen::Index>(i)) = dear(places[i]) ? 1.4 : 0;
    if (const auto next = between_jump(Surface::kInOut, plane, places, residuals, {}, 0.25))
      places.push_back(*next);
  }
  const auto far_side = [&](Channels c) { return dear(c) && c.in < 120; };
  EXPECT_GE(std::count_if(places.begin(), places.end(), far_side), 2);
}

TEST(Jumps, EndsWhereTheEdgeIsKnown) {
  const Domain line{{1, 1001, 1}, {10, 10, 1}};
  std::vector<Channels> places = {{1, 10}, {1001, 10}};
  int steps = 0;
  for (; steps < 100; ++steps) {
    Eigen::VectorXd residuals(static_cast<Eigen::Index>(places.size()));
    for (std::size_t i = 0; i < places.size(); ++i)
      residuals(static_cast<Eigen::Index>(i)) = places[i].in > 300 ? 1 : 0;
    const auto next = between_jump(Surface::kIn, line, places, residuals, {}, 0.25);
    if (!next) break;
    places.push_back(*next);
  }
  EXPECT_EQ(steps, 5);
}

TEST(Guided, StartsWithTheBoundsAndKeepsToTheLimit) {
  GuidedOptions options;
  options.max_points_2d = 12;
  options.stop_deviation = 1e-9;
  StopWhy why{};
  const auto order = walk(Surface::kInOut, {{1, 64, 1}, {1, 128, 1}}, options, &why);
  EXPECT_EQ(order.size(), 12u);
  EXPECT_EQ(why, StopWhy::kPointLimit);
  EXPECT_EQ(order[0], (Channels{64, 128}));
  EXPECT_EQ(order[1], (Channels{1, 1}));
  EXPECT_THAT((std::vector<Channels>{order[2], order[3]}),
              testing::UnorderedElementsAre(Channels{1, 128}, Channels{64, 1}));
}

TEST(Guided, EndsWhenNothingIsLeft) {
  GuidedOptions options;
  options.max_points_1d = 100;
  options.stop_deviation = 1e-9;
  StopWhy why{};
  EXPECT_EQ(walk(Surface::kIn, {{1, 3, 1}, {10, 10, 1}}, options, &why).size(), 3u);
  EXPECT_EQ(why, StopWhy::kExhausted);
  EXPECT_EQ(walk(Surface::kPoint, {{5, 5, 1}, {10, 10, 1}}, options, &why).size(), 1u);
}

TEST(Guided, StopsWhenCertain) {
  GuidedOptions options;
  options.stop_deviation = 10;
  StopWhy why{};
  EXPECT_EQ(walk(Surface::kOut, {{3, 3, 1}, {1, 64, 1}}, options, &why).size(), 4u);
  EXPECT_EQ(why, StopWhy::kCertain);
}

TEST(Guided, SpreadPointsLieWhereNetworksDo) {
  GuidedOptions options;
  options.max_points_2d = 28;
  options.stop_deviation = 1e-9;
  StopWhy why{};
  const auto large = [&](int spread) {
    options.spread_of_three = spread;
    const auto order = walk(Surface::kInOut, {{8, 512, 8}, {1, 128, 1}}, options, &why);
    EXPECT_EQ(order.size(), 28u);
    for (const Channels& c : order) EXPECT_EQ(c.in % 8, 0);
    return std::count_if(order.begin(), order.end(),
                         [](const Channels& c) { return c.in > 256 && c.out > 64; });
  };
  EXPECT_GE(large(3), 6);  // a quarter of the domain, and of the 24 points after the corners
  EXPECT_LT(large(0), large(3));
}

TEST(Guided, KeepsToTheStepOfTheChannels) {
  for (const Channels& c : candidates(Surface::kInOut, {{8, 512, 8}, {32, 256, 32}})) {
    EXPECT_EQ(c.in % 8, 0);
    EXPECT_EQ(c.out % 32, 0);
  }
}

}  // namespace
}  // namespace ampere

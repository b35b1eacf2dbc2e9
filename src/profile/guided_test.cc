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

// A kind whose time is the same everywhere but for `dear` places.
template <class Dear>
SurfaceModel model_of(const std::set<Channels>& places, Surface surface, const Dear& dear) {
  std::vector<Observation> seen;
  for (const Channels& c : places) seen.push_back({c, dear(c) ? 4e-5 : 1e-5, 0.002, 0.005});
  const LayerKind kind = parse_layers(build(parse_zoo("cnn5")), 4).at(1).kind;
  return {seen, surface, CostPolynomial(kind, true), default_surface_options()};
}

TEST(Jumps, HalvesTheGapOfAStep) {
  const Domain line{{1, 401, 1}, {10, 10, 1}};
  const auto dear = [](Channels c) { return c.in > 130; };
  std::set<Channels> places;
  for (std::int64_t c = 1; c <= 401; c += 20) places.insert({c, 10});
  const auto model = [&] { return model_of(places, Surface::kIn, dear); };
  const auto first = within_step(model(), Surface::kIn, line, {}, 0.25);
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, (Channels{131, 10}));
  EXPECT_EQ(within_step(model(), Surface::kIn, line, {*first}, 0.25), std::nullopt);
  EXPECT_EQ(within_step(model(), Surface::kIn, line, {}, 10), std::nullopt);
  int more = 0;
  for (; more < 20; ++more) {
    const auto next = within_step(model(), Surface::kIn, line, {}, 0.25);
    if (!next) break;
    EXPECT_TRUE(places.insert(*next).second);
  }
  EXPECT_LE(more, 5);  // 20 numbers
  // Not to the last number: it ends when the middle of what the likelihood leaves open was measured.
  const auto after = std::find_if(places.begin(), places.end(), dear);
  EXPECT_LE(after->in - std::prev(after)->in, 5);
}

TEST(Jumps, KeepsToTheStepOfTheChannels) {
  const Domain plane{{4, 64, 4}, {8, 128, 8}};
  const auto dear = [](Channels c) { return c.in > 30 && c.out > 40; };
  std::set<Channels> places;
  for (std::int64_t in = 4; in <= 64; in += 12) {
    for (std::int64_t out = 8; out <= 128; out += 24) places.insert({in, out});
  }
  const auto next = within_step(model_of(places, Surface::kInOut, dear), Surface::kInOut, plane, {}, 0.25);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->in % 4, 0);
  EXPECT_EQ(next->out % 8, 0);
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

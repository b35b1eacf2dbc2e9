#include "model/surface_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "network/zoo.h"

namespace ampere {
namespace {

// Ten times the cost from 67 channels out on, of which no place between 64 and 80 was measured.
SurfaceModel with_gap() {
  std::vector<Observation> seen;
  for (std::int64_t in = 8; in <= 64; in += 8) {
    for (const std::int64_t out : {16, 32, 48, 64, 80, 96, 112}) {
      const double work = 1 + 1e-3 * static_cast<double>(in * out);
      seen.push_back({{in, out}, 1e-5 * work * (out >= 67 ? 10 : 1), 0.002, 0.005});
    }
  }
  const LayerKind kind = parse_layers(build(parse_zoo("cnn5")), 4).at(1).kind;
  return {seen, Surface::kInOut, CostPolynomial(kind, true), default_surface_options()};
}

double log_deviation(const SurfaceModel& model, Channels place) {
  const SurfacePrediction at = model.at({place});
  return std::sqrt(std::log1p(at.covariance(0, 0) / (at.mean(0) * at.mean(0))));
}

TEST(SurfaceModel, IsUnsureBetweenTheSidesOfAStep) {
  const SurfaceModel model = with_gap();
  ASSERT_EQ(model.steps().size(), 1u);
  EXPECT_FALSE(model.steps()[0].of_in);
  EXPECT_EQ(model.steps()[0].from, 64);
  EXPECT_EQ(model.steps()[0].to, 80);
  // Both sides lie within two deviations; away from the step neither does.
  const Channels between{20, 72};
  const double half = std::log(10) / 2;
  EXPECT_GT(2 * log_deviation(model, between), half);
  EXPECT_LT(2 * log_deviation(model, {20, 40}), half);
  EXPECT_GT(model.relative_deviation({between})(0), model.relative_deviation({{20, 40}})(0));
}

TEST(SurfaceModel, LearnsFromOthersWhereItSteps) {
  SurfaceModel model = with_gap();
  const Channels between{20, 72};
  const double before = log_deviation(model, between);
  model.narrow({{true, 66, 68}, {false, 20, 30}, {false, 10, 100}});  // no such step, and nothing new
  EXPECT_EQ(model.steps()[0].to, 80);
  EXPECT_EQ(log_deviation(model, between), before);
  model.narrow({{false, 66, 68}});
  EXPECT_EQ(model.steps()[0].from, 66);
  EXPECT_EQ(model.steps()[0].to, 68);
  EXPECT_LT(log_deviation(model, between), 0.5 * before);
  EXPECT_NEAR(model.mean_at(between), 1e-4 * (1 + 1e-3 * 20 * 72), 0.2e-4);
  EXPECT_NEAR(model.at({between}).mean(0), model.mean_at(between), 1e-12);
}

TEST(SurfaceModel, CountsWholeBlocksOnProcessors) {
  const LayerKind kind = parse_layers(build(parse_zoo("cnn5")), 4).at(1).kind;
  const CostPolynomial cost(kind, true);
  const auto truth = [&](std::int64_t in, std::int64_t out) {
    return 1e-11 * cost.flops({(in + 15) / 16 * 16, (out + 15) / 16 * 16});
  };
  std::vector<Observation> seen;
  for (const std::int64_t in : {1, 9, 23, 40, 55, 64}) {
    for (const std::int64_t out : {1, 14, 30, 52, 75, 128})
      seen.push_back({{in, out}, truth(in, out), 0.002, 0.005});
  }
  const SurfaceModel in_blocks(seen, Surface::kInOut, cost, default_surface_options(true));
  const SurfaceModel plain(seen, Surface::kInOut, cost, default_surface_options());
  for (const Channels place : {Channels{16, 16}, Channels{17, 48}, Channels{32, 65}}) {
    const double expected = truth(place.in, place.out);
    EXPECT_NEAR(in_blocks.mean_at(place), expected, 0.01 * expected);
    EXPECT_GT(std::abs(plain.mean_at(place) - expected), 0.01 * expected);
  }
  // Where nothing comes in blocks, none are counted.
  for (Observation& o : seen) o.value = 1e-11 * cost.flops(o.channels);
  const SurfaceModel without(seen, Surface::kInOut, cost, default_surface_options(true));
  EXPECT_NEAR(without.mean_at({17, 17}), 1e-11 * cost.flops({17, 17}), 1e-13 * cost.flops({17, 17}));
}

}  // namespace
}  // namespace ampere

#include "model/layer_power.h"

#include <gtest/gtest.h>

#include "layers/parse.h"
#include "network/zoo.h"

namespace ampere {
namespace {

struct Kinds {
  std::vector<SurfacePlan> plans = split_plans(parse_layers(build(parse_zoo("cnn5")), 16));

  CostPolynomial cost(int kind) const {
    const SurfacePlan& p = plans[static_cast<std::size_t>(kind)];
    return {p.kind, hands_gradient_down(p.role)};
  }
  OpWork work(int kind, Channels c) const {
    return as_one_call(plans[static_cast<std::size_t>(kind)], cost(kind), c);
  }
  // A slow layer runs half as fast, and spends more on the same work.
  MeteredLayer truth(int kind, Channels c, bool slow) const {
    const double flops = cost(kind).flops(c);
    const double time = (1e-5 + 1e-12 * flops) * (slow ? 2 : 1);
    return {work(kind, c), time, 100 * time + (slow ? 3e-10 : 2e-10) * flops, 0.001};
  }
};

SurfacePrediction exactly(double time_s) {
  return {Eigen::VectorXd::Constant(1, time_s), Eigen::MatrixXd::Zero(1, 1)};
}

TEST(LayerPower, TellsKernelsApartByTheirTimes) {
  const Kinds kinds;
  const auto slow = [](Channels c) { return (c.in + c.out) % 3 == 0; };
  std::vector<MeteredLayer> seen;
  for (int i = 0; i < 30; ++i) {
    const Channels c{1 + i * 7 % 32, 1 + i * 11 % 64};
    seen.push_back(kinds.truth(1, c, slow(c)));
  }
  const LayerPower power(seen);
  for (const Channels c : {Channels{9, 30}, Channels{10, 32}, Channels{20, 50}, Channels{25, 20}}) {
    const MeteredLayer t = kinds.truth(1, c, slow(c));
    EXPECT_NEAR(power.energy({t.work}, exactly(t.time_s)).mean(0) / t.energy_j, 1, 0.05)
        << c.in << ' ' << c.out;
  }
  EXPECT_NEAR(power.energy({seen[3].work}, exactly(seen[3].time_s)).mean(0) / seen[3].energy_j, 1, 0.02);
}

// Each kind has seen few layers, and one of them no slow one; together they have seen enough.
TEST(LayerPower, KindsTeachEachOther) {
  const Kinds kinds;
  std::vector<MeteredLayer> own, all;
  for (int k = 1; k <= 3; ++k) {
    for (int i = 0; i < 8; ++i) {
      const Channels c{1 + (i + k) * 7 % 32, 1 + (i + k) * 11 % 64};
      all.push_back(kinds.truth(k, c, i % 3 == 0 && k != 1));
      if (k == 1) own.push_back(all.back());
    }
  }
  const LayerPower alone(own), together(all);
  double off_alone = 0, off_together = 0;
  for (const Channels c : {Channels{9, 30}, Channels{12, 32}, Channels{20, 50}, Channels{25, 20}}) {
    const MeteredLayer t = kinds.truth(1, c, true);
    const auto off = [&](const LayerPower& power) {
      return std::abs(std::log(power.energy({t.work}, exactly(t.time_s)).mean(0) / t.energy_j)) / 4;
    };
    off_alone += off(alone);
    off_together += off(together);
  }
  EXPECT_LT(off_together, 0.8 * off_alone);
}

TEST(LayerPower, OneLayerIsEnoughAndSaysHowLittleThatIs) {
  const Kinds kinds;
  const MeteredLayer one = kinds.truth(1, {8, 16}, false);
  const LayerPower power({one});
  const auto deviation = [&](const OpWork& work, double time_s) {
    const SurfacePrediction e = power.energy({work}, exactly(time_s));
    return std::sqrt(e.covariance(0, 0)) / e.mean(0);
  };
  const MeteredLayer far = kinds.truth(3, {32, 64}, false);
  EXPECT_LT(deviation(one.work, one.time_s), 0.04);
  EXPECT_GT(deviation(far.work, far.time_s), 0.1);
}

// What takes longer than predicted draws less meanwhile, so its energy is surer than its time.
TEST(LayerPower, AnUnsureTimeMakesAnEnergyLessUnsure) {
  const Kinds kinds;
  std::vector<MeteredLayer> seen;
  for (int i = 0; i < 40; ++i) {
    const Channels c{1 + i * 7 % 32, 1 + i * 11 % 64};
    seen.push_back(kinds.truth(1, c, i % 2 == 0));
  }
  const LayerPower power(seen);
  const MeteredLayer t = kinds.truth(1, {20, 50}, false);
  SurfacePrediction times = exactly(t.time_s);
  const double before = power.energy({t.work}, times).covariance(0, 0);
  times.covariance(0, 0) = 0.01 * t.time_s * t.time_s;
  const SurfacePrediction e = power.energy({t.work}, times);
  EXPECT_GT(e.covariance(0, 0), before);
  EXPECT_LT((e.covariance(0, 0) - before) / (e.mean(0) * e.mean(0)), 0.9 * 0.01);
}

TEST(LayerPower, ThousandsOfLayersAreThinned) {
  const Kinds kinds;
  std::vector<MeteredLayer> seen;
  for (int i = 0; i < 4000; ++i) seen.push_back(kinds.truth(1, {1 + i % 32, 1 + i % 61}, false));
  const LayerPower power(seen);
  const MeteredLayer t = kinds.truth(1, {20, 50}, false);
  EXPECT_NEAR(power.energy({t.work}, exactly(t.time_s)).mean(0) / t.energy_j, 1, 0.02);
}

}  // namespace
}  // namespace ampere

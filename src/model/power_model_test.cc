#include "model/power_model.h"

#include <gtest/gtest.h>

#include "layers/parse.h"
#include "model/kernel_marks.h"
#include "model/shared_power.h"
#include "network/zoo.h"

namespace ampere {
namespace {

TEST(PowerModel, TellsKernelsApartByTheirTimes) {
  // Every third layer runs half as fast, and draws less meanwhile.
  const auto layers = parse_layers(build(parse_zoo("cnn5")), 16);
  const CostPolynomial cost(layers[1].kind, true);
  const auto truth = [&](Channels c) {
    const bool slow = (c.in + c.out) % 3 == 0;
    const double time = (1e-5 + 1e-12 * cost.flops(c)) * (slow ? 2 : 1);
    return PowerObservation{c, 100 * time + 2e-10 * cost.flops(c), time, 0.001};
  };
  std::vector<PowerObservation> seen;
  for (int i = 0; i < 30; ++i) seen.push_back(truth({1 + i * 7 % 32, 1 + i * 11 % 64}));
  const PowerModel model(seen, cost);
  for (const Channels c : {Channels{9, 30}, Channels{10, 32}, Channels{20, 50}, Channels{25, 20}}) {
    const PowerObservation t = truth(c);
    const SurfacePrediction times{Eigen::VectorXd::Constant(1, t.time_s), Eigen::MatrixXd::Zero(1, 1)};
    EXPECT_NEAR(model.energy({c}, times).mean(0) / t.energy_j, 1, 0.05) << c.in << ' ' << c.out;
  }
  const SurfacePrediction known = model.energy(
      {seen[3].channels}, {Eigen::VectorXd::Constant(1, seen[3].time_s), Eigen::MatrixXd::Zero(1, 1)});
  EXPECT_NEAR(known.mean(0) / seen[3].energy_j, 1, 0.01);
}

// Each kind has seen few layers, and hardly a slow one; together they have seen enough.
TEST(SharedPower, KindsTeachEachOther) {
  const auto layers = parse_layers(build(parse_zoo("cnn5")), 16);
  const auto truth = [&](const CostPolynomial& cost, Channels c, bool slow) {
    const double time = (1e-5 + 1e-12 * cost.flops(c)) * (slow ? 2 : 1);
    return PowerObservation{c, 100 * time + 2e-10 * cost.flops(c), time, 0.001};
  };
  std::map<std::string, PowerOfKind> kinds;
  for (int k = 1; k <= 3; ++k) {
    PowerOfKind kind{CostPolynomial(layers[static_cast<std::size_t>(k)].kind, true), {}};
    for (int i = 0; i < 8; ++i)
      kind.observations.push_back(
          truth(kind.cost, {1 + (i + k) * 7 % 32, 1 + (i + k) * 11 % 64}, i % 3 == 0 && k != 1));
    kinds.emplace("kind" + std::to_string(k), kind);
  }
  const auto shared = SharedPower::fit(kinds, 90);
  ASSERT_TRUE(shared);
  const PowerOfKind& first = kinds.at("kind1");  // never seen slow
  const PowerModel alone(first.observations, first.cost);
  const PowerModel with_others(first.observations, first.cost, {shared, nullptr, "kind1"});
  double off_alone = 0, off_with_others = 0;
  for (const Channels c : {Channels{9, 30}, Channels{12, 32}, Channels{20, 50}, Channels{25, 20}}) {
    const PowerObservation t = truth(first.cost, c, true);
    const SurfacePrediction times{Eigen::VectorXd::Constant(1, t.time_s), Eigen::MatrixXd::Zero(1, 1)};
    off_alone += std::abs(std::log(alone.energy({c}, times).mean(0) / t.energy_j)) / 4;
    off_with_others += std::abs(std::log(with_others.energy({c}, times).mean(0) / t.energy_j)) / 4;
  }
  EXPECT_LT(off_with_others, 0.06);
  EXPECT_LT(off_with_others, off_alone);

  kinds.erase("kind3");
  EXPECT_FALSE(SharedPower::fit(kinds, 90)) << "two kinds are too few";
}

TEST(KernelMarks, DistanceIsTheNumberOfKernelsThatDiffer) {
  const KernelMarks marks({{"gemm", "relu"}, {"fft", "relu"}});
  const Eigen::MatrixXd at = marks({{"gemm", "relu"}, {"fft", "relu"}, {"relu", "new", "newer"}, {}});
  EXPECT_EQ(at.cols(), marks.columns());
  EXPECT_DOUBLE_EQ((at.row(0) - at.row(1)).squaredNorm(), 2);
  EXPECT_DOUBLE_EQ((at.row(0) - at.row(2)).squaredNorm(), 3);
  EXPECT_DOUBLE_EQ(at.row(3).squaredNorm(), 0);
}

// Two kernels take equally long and draw different power, so that nothing but their names tells them apart.
TEST(SharedPower, KernelsTellPowerWhereRatesCannot) {
  const auto layers = parse_layers(build(parse_zoo("cnn5")), 16);
  const auto truth = [&](const CostPolynomial& cost, Channels c) {
    const bool hot = (c.in * 5 + c.out) % 3 == 0;
    const double time = 1e-5 + 1e-12 * cost.flops(c);
    const double energy = 100 * time + (hot ? 3e-10 : 2e-10) * cost.flops(c);
    return PowerObservation{c, energy, time, 0.001, {hot ? "winograd" : "gemm", "batch_norm"}};
  };
  std::map<std::string, PowerOfKind> kinds;
  for (int k = 1; k <= 3; ++k) {
    PowerOfKind kind{CostPolynomial(layers[static_cast<std::size_t>(k)].kind, true), {}};
    for (int i = 0; i < 14; ++i)
      kind.observations.push_back(truth(kind.cost, {1 + (i + k) * 7 % 32, 1 + (i + k) * 11 % 64}));
    kinds.emplace("kind" + std::to_string(k), kind);
  }
  const auto by_rates = SharedPower::fit(kinds, 90);
  const auto by_kernels = SharedPower::fit(kinds, 90, PowerInputs::kKernels);
  ASSERT_TRUE(by_kernels);
  const PowerOfKind& first = kinds.at("kind1");
  PowerModel model(first.observations, first.cost, {by_rates, by_kernels, "kind1"});
  double guessed = 0, known = 0;
  for (const Channels c : {Channels{9, 30}, Channels{12, 32}, Channels{20, 50}, Channels{25, 19}}) {
    const PowerObservation t = truth(first.cost, c);
    const SurfacePrediction times{Eigen::VectorXd::Constant(1, t.time_s), Eigen::MatrixXd::Zero(1, 1)};
    const SurfacePrediction guess = model.energy({c}, times);
    model.know(c, t.kernels);
    const SurfacePrediction told = model.energy({c}, times);
    guessed += std::abs(guess.mean(0) / t.energy_j - 1);
    known += std::abs(told.mean(0) / t.energy_j - 1);
    model.know(c, {"never seen", "batch_norm"});
    EXPECT_GT(model.energy({c}, times).covariance(0, 0), told.covariance(0, 0));
  }
  EXPECT_LT(known, 0.5 * guessed);

  kinds.at("kind2").observations[3].kernels.clear();
  EXPECT_TRUE(SharedPower::fit(kinds, 90, PowerInputs::kKernels)) << "one that nobody can tell is left out";
  for (PowerObservation& o : kinds.at("kind2").observations) o.kernels.clear();
  EXPECT_FALSE(SharedPower::fit(kinds, 90, PowerInputs::kKernels)) << "two kinds are too few";
}

}  // namespace
}  // namespace ampere

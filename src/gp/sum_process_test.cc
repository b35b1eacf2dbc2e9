#include "gp/sum_process.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <random>

namespace ampere {
namespace {

Eigen::MatrixXd covariance(const std::vector<double>& a, const std::vector<double>& b) {
  Eigen::MatrixXd k(static_cast<Eigen::Index>(a.size()), static_cast<Eigen::Index>(b.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j)
      k(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          std::exp(-0.5 * std::pow(a[i] - b[j], 2));
  }
  return k;
}

TEST(SumProcess, OfSingleTermsIsAnOrdinaryProcess) {
  const std::vector<double> x = {0, 1, 2.5}, at = {0.7};
  const Eigen::VectorXd y = (Eigen::VectorXd(3) << 0.3, -0.2, 1.1).finished();
  std::vector<SeenSum> seen;
  for (int i = 0; i < 3; ++i) seen.push_back({{{i, 1}}, y(i), 0.1});
  const SumProcess process(covariance(x, x), Eigen::VectorXd::Zero(3), seen, 0.2);
  const SumPrediction p =
      process.at({{{{0, 1}}, -1}}, covariance(at, x), covariance(at, at), Eigen::VectorXd::Zero(1));
  const Eigen::MatrixXd k = covariance(x, x) + (0.01 + 0.04) * Eigen::MatrixXd::Identity(3, 3);
  const Eigen::MatrixXd cross = covariance(at, x);
  EXPECT_NEAR(p.log_mean(0), (cross * k.ldlt().solve(y))(0), 1e-9);
  EXPECT_NEAR(p.log_covariance(0, 0), 1 + 0.04 - (cross * k.ldlt().solve(cross.transpose()))(0, 0), 1e-9);
}

TEST(SumProcess, TellsSumsApart) {
  // Two calls that are far from each other: one measured alone, and both together. What is left is the
  // other's.
  const std::vector<double> x = {0, 50};
  const SumProcess process(4 * covariance(x, x), Eigen::VectorXd::Zero(2),
                           {{{{0, 1}}, std::log(2.0), 0.001}, {{{0, 3}, {1, 2}}, std::log(16.0), 0.001}},
                           0.001);
  EXPECT_NEAR(std::exp(process.values()(0)), 2, 0.01);
  EXPECT_NEAR(std::exp(process.values()(1)), 5, 0.05);
  const SumPrediction p = process.at({{{{0, 1}, {1, 1}}, -1}}, 4 * covariance(x, x), 4 * covariance(x, x),
                                     Eigen::VectorXd::Zero(2));
  EXPECT_NEAR(std::exp(p.log_mean(0)), 7, 0.07);
  EXPECT_NEAR(p.shares[0](1), 5.0 / 7, 0.01);
  EXPECT_LT(p.log_covariance(0, 0), 1e-3);
}

// A step that would be too long is shortened, the last one, too: what is told of the points that were
// measured is what was settled for.
TEST(SumProcess, WhatItTellsOfItsPointsIsWhatItSettledFor) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> some(0, 29);
  std::vector<double> x;
  for (int i = 0; i < 30; ++i) x.push_back(0.6 * i);
  for (int round = 0; round < 20; ++round) {
    std::vector<SeenSum> seen;
    for (int i = 0; i < 40; ++i)
      seen.push_back({{{some(random), 1}, {some(random), 3}, {some(random), 0.1}}, 4 * normal(random), 0.02});
    const Eigen::MatrixXd k = 9 * covariance(x, x) + 0.1 * Eigen::MatrixXd::Identity(30, 30);
    const SumProcess process(k, Eigen::VectorXd::Zero(30), seen, 0.03);
    const SumPrediction told = process.at({{{{0, 1}}, -1}}, k, k, Eigen::VectorXd::Zero(30));
    EXPECT_LT((told.values - process.values()).cwiseAbs().maxCoeff(), 1e-6);
  }
}

// Layers are sums of several calls, each of which may be the one that takes long; what is believed beforehand
// may be off by a factor of ten. Whole steps would go from one to the other and never settle.
TEST(SumProcess, SumsOfSeveralTermsAreMetAsTheyWereMeasured) {
  constexpr int kPlaces = 12;
  std::vector<double> x;
  for (int i = 0; i < 3 * kPlaces; ++i) x.push_back(100 * (i / kPlaces) + 0.1 * (i % kPlaces));  // 3 families
  std::vector<SeenSum> seen;
  for (int i = 0; i < kPlaces; ++i) {
    const double size = std::exp(0.3 * i);
    const double value = 0.02 * size + 0.3 * size + 0.01 * size;
    seen.push_back({{{i, size}, {kPlaces + i, 2 * size}, {2 * kPlaces + i, size}}, std::log(value), 0.01});
  }
  const Eigen::MatrixXd k = 2 * covariance(x, x);
  const SumProcess process(k, Eigen::VectorXd::Zero(3 * kPlaces), seen, 0.03);
  for (int i = 0; i < kPlaces; ++i) {
    double sum = 0;
    for (const SumTerm& t : seen[static_cast<std::size_t>(i)].terms)
      sum += t.weight * std::exp(process.values()(t.point));
    EXPECT_NEAR(std::log(sum), seen[static_cast<std::size_t>(i)].log_value, 0.02) << i;
  }
}

TEST(SumProcess, WhatWasMeasuredCountsForItself) {
  // Two sums of the same calls that were measured differently: asked for again, each is what it was.
  const std::vector<double> x = {0};
  const std::vector<SeenSum> seen = {{{{0, 1}}, 0.0, 0.01}, {{{0, 1}}, 0.3, 0.01}};
  const SumProcess process(covariance(x, x), Eigen::VectorXd::Zero(1), seen, 0.2);
  const auto ask = [&](int same) {
    return process.at({{{{0, 1}}, same}}, covariance(x, x), covariance(x, x), Eigen::VectorXd::Zero(1));
  };
  EXPECT_NEAR(ask(0).log_mean(0), 0.0, 0.01);
  EXPECT_NEAR(ask(1).log_mean(0), 0.3, 0.01);
  EXPECT_NEAR(ask(-1).log_mean(0), 0.15, 0.02);
  EXPECT_LT(ask(1).log_covariance(0, 0), 0.1 * ask(-1).log_covariance(0, 0));
}

TEST(SumProcess, MeansAreTheSameWithoutHowSureTheyAre) {
  const std::vector<double> x = {0, 1, 2.5}, at = {0.7, 1.5};
  const SumProcess process(covariance(x, x), Eigen::VectorXd::Zero(3),
                           {{{{0, 1}}, 0.3, 0.01}, {{{1, 2}, {2, 1}}, -0.2, 0.01}}, 0.2);
  const Eigen::VectorXd prior = Eigen::VectorXd::Constant(2, 0.1);
  const std::vector<AskedSum> asked = {{{{0, 1}, {1, 3}}, -1}, {{{1, 1}}, 1}};
  const SumPrediction whole = process.at(asked, covariance(at, x), covariance(at, at), prior);
  const SumPrediction means = process.means(asked, covariance(at, x), prior);
  EXPECT_EQ(means.log_mean, whole.log_mean);
  EXPECT_EQ(means.shares, whole.shares);
  EXPECT_EQ(means.values, whole.values);
  EXPECT_EQ(means.log_covariance.size(), 0);
}

TEST(SumProcess, KnowsNothingWithoutMeasurements) {
  const std::vector<double> x = {1};
  const SumProcess process(Eigen::MatrixXd(0, 0), Eigen::VectorXd(0), {}, 0.1);
  const SumPrediction p = process.at({{{{0, 2}}, -1}}, Eigen::MatrixXd(1, 0), covariance(x, x),
                                     Eigen::VectorXd::Constant(1, 0.5));
  EXPECT_NEAR(p.log_mean(0), 0.5 + std::log(2.0), 1e-12);
  EXPECT_NEAR(p.log_covariance(0, 0), 1.01, 1e-12);
}

}  // namespace
}  // namespace ampere

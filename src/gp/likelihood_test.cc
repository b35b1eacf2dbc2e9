#include "gp/likelihood.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "gp/test_points.h"

namespace ampere {
namespace {

Likelihood make(const GpData& data, KernelType type) {
  const Eigen::VectorXd weights =
      data.noise_weights.size() > 0 ? data.noise_weights : Eigen::VectorXd::Ones(data.y.size());
  return {data.x, data.y, weights, type};
}

void expect_gradient(Likelihood likelihood, const Eigen::VectorXd& at) {
  Eigen::VectorXd gradient;
  const double value = likelihood.evaluate(at, &gradient);
  EXPECT_DOUBLE_EQ(value, likelihood.evaluate(at, nullptr));
  for (Eigen::Index i = 0; i < at.size(); ++i) {
    const double h = 1e-5;
    Eigen::VectorXd step = Eigen::VectorXd::Zero(at.size());
    step[i] = h;
    const double expected =
        (likelihood.evaluate(at + step, nullptr) - likelihood.evaluate(at - step, nullptr)) / (2 * h);
    EXPECT_NEAR(gradient[i], expected, 1e-6 * std::max(1.0, std::abs(expected))) << "parameter " << i;
  }
}

TEST(Likelihood, GradientMatchesFiniteDifferences) {
  for (KernelType type : {KernelType::kMatern12, KernelType::kMatern52}) {
    for (Eigen::Index d : {1, 2, 4}) {
      SCOPED_TRACE(std::string(type == KernelType::kMatern12 ? "Matern 1/2" : "Matern 5/2") + " in " +
                   std::to_string(d) + " dimensions");
      const Eigen::VectorXd at = -1.5 * random_matrix(d + 2, 1, 21);
      expect_gradient(make(smooth_data(7, d, 0.1, 22), type), at);
      expect_gradient(make(weighted_data(40, d, 0.1, 23), type), at);
    }
  }
}

TEST(Likelihood, GradientHoldsForRepeatedInputs) {
  GpData data = weighted_data(10, 2, 0.1, 24);
  data.x.row(3) = data.x.row(7);
  for (KernelType type : {KernelType::kMatern12, KernelType::kMatern52}) {
    expect_gradient(make(data, type), Eigen::VectorXd::Constant(4, -1.0));
  }
}

TEST(Likelihood, OneAndTwoPoints) {
  for (Eigen::Index n : {1, 2}) {
    expect_gradient(make(smooth_data(n, 2, 0.1, 25), KernelType::kMatern52),
                    Eigen::VectorXd::Constant(4, -0.5));
  }
}

TEST(Likelihood, OfOnePointIsTheNormalDensity) {
  GpData data;
  data.x = Eigen::MatrixXd::Zero(1, 1);
  data.y = Eigen::VectorXd::Constant(1, 2.0);
  const double variance = 1 + 0.25;
  const double expected = -0.5 * (4 / variance + std::log(2 * std::numbers::pi * variance));
  const Eigen::Vector3d at(0, 0, std::log(0.5));
  EXPECT_NEAR(make(data, KernelType::kMatern52).evaluate(at, nullptr), expected, 1e-14);
}

TEST(Likelihood, JitterTakesInRepeatedPointsWithoutNoise) {
  GpData data = smooth_data(6, 1, 0, 26);
  data.x.row(1) = data.x.row(0);
  data.y[1] = data.y[0];
  Eigen::VectorXd gradient;
  const Eigen::Vector3d at(0, 0, -100);
  EXPECT_TRUE(std::isfinite(make(data, KernelType::kMatern52).evaluate(at, &gradient)));
  EXPECT_TRUE(gradient.allFinite());
}

}  // namespace
}  // namespace ampere

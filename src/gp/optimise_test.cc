#include "gp/optimise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace ampere {
namespace {

// A curved ridge with its top, 0, at (1, 1).
double ridge(const Eigen::VectorXd& x, Eigen::VectorXd* gradient) {
  const double a = 1 - x[0];
  const double b = x[1] - x[0] * x[0];
  (*gradient)[0] = 2 * a + 40 * b * x[0];
  (*gradient)[1] = -20 * b;
  return -a * a - 10 * b * b;
}

const Eigen::Vector2d kStart(-1, 2);
const Eigen::Vector2d kLower(-3, -3);

TEST(Maximise, FindsTheTop) {
  const Maximum top = maximise(ridge, kStart, kLower, Eigen::Vector2d(3, 3), 1e-12, 500);
  EXPECT_NEAR(top.value, 0, 1e-6);
  EXPECT_NEAR(top.x[0], 1, 1e-3);
}

TEST(Maximise, KeepsToTheBounds) {
  const Maximum top = maximise(ridge, kStart, kLower, Eigen::Vector2d(0.5, 3), 1e-12, 500);
  EXPECT_NEAR(top.x[0], 0.5, 1e-6);
  EXPECT_NEAR(top.x[1], 0.25, 1e-3);
}

TEST(Maximise, EqualBoundsFixAValue) {
  const Maximum top = maximise(ridge, kStart, Eigen::Vector2d(0.2, -3), Eigen::Vector2d(0.2, 3), 1e-12, 500);
  EXPECT_EQ(top.x[0], 0.2);
  EXPECT_NEAR(top.x[1], 0.04, 1e-4);
}

TEST(Maximise, EndsAtTheLimitWithTheBestSoFar) {
  int evaluations = 0;
  const Objective counted = [&](const Eigen::VectorXd& x, Eigen::VectorXd* gradient) {
    ++evaluations;
    return ridge(x, gradient);
  };
  const Maximum top = maximise(counted, kStart, kLower, Eigen::Vector2d(3, 3), 1e-12, 4);
  EXPECT_LE(evaluations, 5);
  Eigen::VectorXd gradient(2);
  EXPECT_GE(top.value, ridge(kStart, &gradient));
}

TEST(Maximise, SurvivesPlacesWithoutAValue) {
  const Objective holed = [](const Eigen::VectorXd& x, Eigen::VectorXd* gradient) {
    const double value = ridge(x, gradient);
    return x[0] > 2 ? -std::numeric_limits<double>::infinity() : value;
  };
  EXPECT_GT(maximise(holed, kStart, kLower, Eigen::Vector2d(3, 3), 1e-12, 500).value, -1);
  const Objective nothing = [](const Eigen::VectorXd&, Eigen::VectorXd*) { return std::nan(""); };
  EXPECT_FALSE(std::isfinite(maximise(nothing, kStart, kLower, Eigen::Vector2d(3, 3), 1e-6, 9).value));
}

TEST(Maximise, LetsErrorsThrough) {
  const Objective failing = [](const Eigen::VectorXd&, Eigen::VectorXd*) -> double {
    throw bad_input("mine");
  };
  try {
    maximise(failing, kStart, kLower, Eigen::Vector2d(3, 3), 1e-6, 9);
    FAIL() << "should have thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "mine");
  }
}

}  // namespace
}  // namespace ampere

#include "gp/steps.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ampere {
namespace {

// Places that fill a square of side 10 evenly, and what `f` is there.
template <class F>
GpData plane(int count, const F& f) {
  GpData data;
  data.x.resize(count, 2);
  data.y.resize(count);
  for (int i = 0; i < count; ++i) {
    data.x(i, 0) = 10 * std::fmod(0.5 + i * 0.7548776662, 1.0);
    data.x(i, 1) = 10 * std::fmod(0.5 + i * 0.5698402910, 1.0);
    data.y(i) = f(data.x(i, 0), data.x(i, 1));
  }
  return data;
}

GpOptions rough() {
  GpOptions options;
  options.kernel = KernelType::kMatern12;
  options.restarts = 1;
  options.length_prior = LogPrior{0.7, 0.7};
  return options;
}

double smooth(double a, double b) { return 0.1 * std::sin(0.4 * a) + 0.02 * b; }

TEST(Steps, FindsTheEdgesOfARegion) {
  const auto f = [](double a, double b) { return smooth(a, b) + (a > 4 && b > 3 && b < 7 ? 2 : 0); };
  const SteppedGp fitted = fit_with_steps(plane(90, f), rough(), 4);
  ASSERT_GE(fitted.steps.size(), 3u);
  const auto found = [&](Eigen::Index column, double edge) {
    for (const InputStep& s : fitted.steps) {
      if (s.column == column && s.from <= edge && s.to >= edge && s.to - s.from < 1) return true;
    }
    return false;
  };
  EXPECT_TRUE(found(0, 4));
  EXPECT_TRUE(found(1, 3));
  EXPECT_TRUE(found(1, 7));
  // Places that no observation is near, just inside and just outside.
  Eigen::MatrixXd places(4, 2);
  places << 4.6, 5, 3.4, 5, 8, 6.4, 8, 7.6;
  const Eigen::VectorXd mean = fitted.gp.predict(with_steps(places, fitted.steps)).mean;
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(mean(i), f(places(i, 0), places(i, 1)), 0.3) << i;
}

TEST(Steps, FindsNoneWhereThereIsNone) {
  EXPECT_TRUE(fit_with_steps(plane(60, smooth), rough(), 4).steps.empty());
  const auto slope = [](double a, double) { return 0.5 * a; };
  EXPECT_TRUE(fit_with_steps(plane(60, slope), rough(), 4).steps.empty());
  // Too few observations to have two sides, and all at one place.
  EXPECT_TRUE(fit_with_steps(plane(5, smooth), rough(), 4).steps.empty());
  GpData same = plane(8, smooth);
  same.x.setOnes();
  EXPECT_TRUE(fit_with_steps(same, rough(), 4).steps.empty());
}

TEST(Steps, AreUnsureWhereNothingWasSeen) {
  GpData line;
  line.x.resize(24, 1);
  line.y.resize(24);
  for (int i = 0; i < 24; ++i) {
    line.x(i, 0) = i < 12 ? i : i + 6;  // nothing from 12 to 17
    line.y(i) = 0.01 * std::sin(i) + (i < 12 ? 0 : 2);
  }
  const SteppedGp fitted = fit_with_steps(line, rough(), 4);
  ASSERT_EQ(fitted.steps.size(), 1u);
  EXPECT_EQ(fitted.steps[0].from, 11);
  EXPECT_EQ(fitted.steps[0].to, 18);
  Eigen::MatrixXd places(3, 1);
  places << 5.5, 14.5, 22.5;
  const Eigen::MatrixXd rows = with_steps(places, fitted.steps);
  const GpPrediction at = fitted.gp.predict(rows);
  const Eigen::VectorXd undecided = fitted.undecided(rows);
  EXPECT_NEAR(at.mean(0), 0, 0.2);
  EXPECT_NEAR(at.mean(2), 2, 0.2);
  // In the middle the two sides, 0 and 2, are one deviation away.
  EXPECT_NEAR(at.mean(1), 1, 0.3);
  EXPECT_NEAR(std::sqrt(undecided(1)), 1, 0.2);
  EXPECT_EQ(undecided(0), 0);
  EXPECT_EQ(undecided(2), 0);
  EXPECT_LT(std::sqrt(at.variance(0)), 0.25);
  // Once it is known where the step is, nothing is undecided there.
  const SteppedGp told = fit_given_steps(line, rough(), {{0, 11, 13}}, fitted.gp.hyperparameters());
  const Eigen::MatrixXd same = with_steps(places, told.steps);
  EXPECT_EQ(told.undecided(same)(1), 0);
  EXPECT_NEAR(told.gp.predict(same).mean(1), 2, 0.3);
}

}  // namespace
}  // namespace ampere

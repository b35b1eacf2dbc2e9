// Tests of Gp::fit and of what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gp/gp.h"
#include "gp/test_points.h"

namespace ampere {
namespace {

TEST(Fit, PredictsASmoothFunction) {
  const Gp gp = Gp::fit(smooth_data(40, 2, 0.02, 51));
  const GpData truth = smooth_data(50, 2, 0, 52);
  EXPECT_LT((gp.predict(truth.x).mean - truth.y).cwiseAbs().maxCoeff(), 0.1);
}

TEST(Fit, IsDeterministic) {
  const GpData data = smooth_data(15, 2, 0.1, 53);
  const Hyperparameters a = Gp::fit(data).hyperparameters();
  const Hyperparameters b = Gp::fit(data).hyperparameters();
  EXPECT_EQ(a.signal_sd, b.signal_sd);
  EXPECT_EQ(a.length_scales, b.length_scales);
  EXPECT_EQ(a.noise_sd, b.noise_sd);
}

TEST(Fit, UnitsDoNotMatter) {
  GpData data = smooth_data(15, 2, 0.1, 54);
  const Gp plain = Gp::fit(data);
  data.y = data.y.array() * 1e-6 + 42e-6;
  data.x.col(1) *= 1e6;
  const Gp scaled = Gp::fit(data);
  EXPECT_NEAR(scaled.hyperparameters().signal_sd / plain.hyperparameters().signal_sd, 1e-6, 1e-8);
  EXPECT_NEAR(scaled.log_marginal_likelihood(), plain.log_marginal_likelihood() + 15 * std::log(1e6), 1e-5);
}

TEST(Fit, MoreStartsAreNeverWorse) {
  const GpData data = smooth_data(9, 3, 0.5, 55);
  double before = -std::numeric_limits<double>::infinity();
  for (int restarts = 0; restarts < 8; ++restarts) {
    GpOptions options;
    options.restarts = restarts;
    const double now = Gp::fit(data, options).log_marginal_likelihood();
    EXPECT_GE(now, before - 1e-12);
    before = now;
  }
}

TEST(Fit, AWarmStartAtTheAnswerStaysThere) {
  const GpData data = smooth_data(25, 2, 0.1, 56);
  const Gp cold = Gp::fit(data);
  GpOptions options;
  options.restarts = 0;
  options.start = cold.hyperparameters();
  const Gp warm = Gp::fit(data, options);
  EXPECT_NEAR(warm.log_marginal_likelihood(), cold.log_marginal_likelihood(), 1e-4);
}

TEST(Fit, EqualBoundsFixTheSignal) {
  const GpData data = smooth_data(15, 2, 0.1, 57);
  GpOptions options;
  options.signal_bounds = {0.2, 0.2};
  const Gp gp = Gp::fit(data, options);
  const double spread = std::sqrt((data.y.array() - data.y.mean()).square().mean());
  EXPECT_NEAR(gp.hyperparameters().signal_sd, 0.2 * spread, 1e-12);
}

TEST(Fit, APriorPullsWhereDataSayLittle) {
  const GpData data = smooth_data(4, 1, 0.1, 58);
  GpOptions options;
  const double range = data.x.maxCoeff() - data.x.minCoeff();
  options.length_prior = LogPrior{0.7 / range, 1e-3};
  const Hyperparameters fitted = Gp::fit(data, options).hyperparameters();
  EXPECT_NEAR(fitted.length_scales[0], 0.7, 1e-3);
}

TEST(Fit, FewPoints) {
  for (const Eigen::Index n : {1, 2, 3}) {
    const GpData data = smooth_data(n, 2, 0, 59);
    const Gp gp = Gp::fit(data);
    EXPECT_TRUE(gp.predict(data.x).mean.allFinite());
    EXPECT_TRUE(gp.predict(10 * data.x).variance.allFinite());
  }
  // One point says nothing about how much f varies: the first guess is as large as the value itself.
  GpData one;
  one.x = Eigen::MatrixXd::Constant(1, 1, 3);
  one.y = Eigen::VectorXd::Constant(1, 7);
  EXPECT_NEAR(Gp::fit(one).hyperparameters().signal_sd, 7, 1e-9);
}

TEST(Fit, ConstantAndRepeatedObservations) {
  GpData data = smooth_data(6, 2, 0, 61);
  data.y.setConstant(4);
  EXPECT_NEAR(Gp::fit(data).predict(data.x).mean[0], 4, 1e-9);
  data.y.setZero();
  EXPECT_NEAR(Gp::fit(data).predict(data.x).mean[0], 0, 1e-9);
  data.x.setConstant(0.5);
  data.y = Eigen::VectorXd::LinSpaced(6, 1, 2);
  EXPECT_NEAR(Gp::fit(data).predict(data.x).mean[0], 1.5, 1e-6);
}

TEST(Fit, RefusesBadInput) {
  const double nan = std::nan("");
  const std::vector<std::pair<const char*, std::function<void(GpData*)>>> cases = {
      {"no points", [](GpData* d) { *d = GpData(); }},
      {"NaN input", [&](GpData* d) { d->x(1, 0) = nan; }},
      {"infinite observation", [](GpData* d) { d->y[0] = std::numeric_limits<double>::infinity(); }},
      {"too few observations", [](GpData* d) { d->y.conservativeResize(3); }},
      {"zero weight", [](GpData* d) { d->noise_weights[2] = 0; }},
      {"too few weights", [](GpData* d) { d->noise_weights.conservativeResize(2); }},
  };
  for (const auto& [name, spoil] : cases) {
    GpData data = weighted_data(6, 2, 0.1, 62);
    spoil(&data);
    try {
      Gp::fit(data);
      ADD_FAILURE() << name << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << name;
    }
  }
}

TEST(Fit, RefusesBadQueries) {
  const Gp gp = Gp::fit(weighted_data(6, 2, 0.1, 63));
  const Eigen::MatrixXd x = random_matrix(3, 2, 64);
  EXPECT_THROW(gp.predict(random_matrix(3, 1, 64)), Error);
  EXPECT_THROW(gp.joint(random_matrix(3, 3, 64)), Error);
  EXPECT_THROW(gp.joint(x * std::nan("")), Error);
  EXPECT_EQ(gp.predict(Eigen::MatrixXd(0, 2)).mean.size(), 0);
}

}  // namespace
}  // namespace ampere

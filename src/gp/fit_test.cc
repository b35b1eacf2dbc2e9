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
  EXPECT_LT((gp.mean(truth.x) - truth.y).cwiseAbs().maxCoeff(), 0.1);
  EXPECT_EQ(gp.summary().starts, 6);
  EXPECT_GT(gp.summary().evaluations, 20);
  EXPECT_EQ(gp.summary().log_marginal_likelihood, gp.log_marginal_likelihood());
  EXPECT_NE(gp.summary().brief().find("log marginal likelihood"), std::string::npos);
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

TEST(Fit, AWarmStartAtTheAnswerEndsQuickly) {
  const GpData data = smooth_data(25, 2, 0.1, 56);
  const Gp cold = Gp::fit(data);
  GpOptions options;
  options.restarts = 0;
  options.start = cold.hyperparameters();
  const Gp warm = Gp::fit(data, options);
  EXPECT_NEAR(warm.log_marginal_likelihood(), cold.log_marginal_likelihood(), 1e-4);
  EXPECT_LT(warm.summary().evaluations, 20);
}

TEST(Fit, EqualBoundsFixTheNoise) {
  const GpData data = smooth_data(15, 2, 0.1, 57);
  GpOptions options;
  options.noise_bounds = {0.2, 0.2};
  const Gp gp = Gp::fit(data, options);
  const double spread = std::sqrt((data.y.array() - data.y.mean()).square().mean());
  EXPECT_NEAR(gp.hyperparameters().noise_sd, 0.2 * spread, 1e-12);
}

TEST(Fit, APriorPullsWhereDataSayLittle) {
  const GpData data = smooth_data(4, 1, 0.1, 58);
  GpOptions options;
  options.input_ranges = Eigen::VectorXd::Ones(1);
  options.length_prior = LogPrior{0.7, 1e-3};
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
  // As many coefficients as points.
  const Gp line = Gp::fit(data_with_basis(2, 1, 0, 60));
  EXPECT_TRUE(line.predict(line.data().x, line.data().basis).variance.allFinite());
}

TEST(Fit, ConstantAndRepeatedObservations) {
  GpData data = smooth_data(6, 2, 0, 61);
  data.y.setConstant(4);
  EXPECT_NEAR(Gp::fit(data).mean(data.x)[0], 4, 1e-9);
  data.y.setZero();
  EXPECT_NEAR(Gp::fit(data).mean(data.x)[0], 0, 1e-9);
  data.x.setConstant(0.5);
  data.y = Eigen::VectorXd::LinSpaced(6, 1, 2);
  EXPECT_NEAR(Gp::fit(data).mean(data.x)[0], 1.5, 1e-6);
}

TEST(Fit, RefusesBadInput) {
  const double nan = std::nan("");
  const std::vector<std::pair<const char*, std::function<void(GpData*, GpOptions*)>>> cases = {
      {"no points", [](GpData* d, GpOptions*) { *d = GpData(); }},
      {"NaN input", [&](GpData* d, GpOptions*) { d->x(1, 0) = nan; }},
      {"infinite observation",
       [](GpData* d, GpOptions*) { d->y[0] = std::numeric_limits<double>::infinity(); }},
      {"too few observations", [](GpData* d, GpOptions*) { d->y.conservativeResize(3); }},
      {"NaN in the basis", [&](GpData* d, GpOptions*) { d->basis(0, 0) = nan; }},
      {"too few basis rows", [](GpData* d, GpOptions*) { d->basis.conservativeResize(3, 2); }},
      {"dependent basis", [](GpData* d, GpOptions*) { d->basis.col(1) = 1e9 * d->basis.col(0); }},
      {"more columns than points", [](GpData* d, GpOptions*) { d->basis = random_matrix(6, 7, 1); }},
      {"zero weight", [](GpData* d, GpOptions*) { d->noise_weights[2] = 0; }},
      {"too few weights", [](GpData* d, GpOptions*) { d->noise_weights.conservativeResize(2); }},
      {"bounds out of order",
       [](GpData*, GpOptions* o) {
         o->noise_bounds = {1, 0.1};
       }},
      {"bounds at zero",
       [](GpData*, GpOptions* o) {
         o->length_bounds = {0, 1};
       }},
      {"flat prior",
       [](GpData*, GpOptions* o) {
         o->length_prior = LogPrior{0.1, 0};
       }},
      {"negative restarts", [](GpData*, GpOptions* o) { o->restarts = -1; }},
      {"start of another size",
       [](GpData*, GpOptions* o) {
         o->start = Hyperparameters{1, Eigen::VectorXd::Ones(5), 0};
       }},
      {"range of zero", [](GpData*, GpOptions* o) { o->input_ranges = Eigen::VectorXd::Zero(2); }},
  };
  for (const auto& [name, spoil] : cases) {
    GpData data = data_with_basis(6, 2, 0.1, 62);
    GpOptions options;
    spoil(&data, &options);
    try {
      Gp::fit(data, options);
      ADD_FAILURE() << name << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << name;
    }
  }
}

TEST(Fit, RefusesBadQueries) {
  Gp gp = Gp::fit(data_with_basis(6, 2, 0.1, 63));
  const Eigen::MatrixXd x = random_matrix(3, 2, 64);
  EXPECT_THROW(gp.predict(x), Error);
  EXPECT_THROW(gp.predict(random_matrix(3, 1, 64), x), Error);
  EXPECT_THROW(gp.joint(x, random_matrix(2, 2, 64)), Error);
  EXPECT_THROW(gp.mean(x * std::nan(""), x), Error);
  EXPECT_THROW(gp.add_point(x.row(0), std::nan(""), x.row(0)), Error);
  EXPECT_THROW(gp.add_point(x.row(0), 1), Error);
  EXPECT_EQ(gp.predict(Eigen::MatrixXd(0, 2), Eigen::MatrixXd(0, 2)).mean.size(), 0);
}

}  // namespace
}  // namespace ampere

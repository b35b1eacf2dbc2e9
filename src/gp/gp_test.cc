#include "gp/gp.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "gp/test_points.h"

namespace ampere {
namespace {

Hyperparameters some_hyperparameters(Eigen::Index dimensions, double noise_sd = 0.1) {
  return {1.3, Eigen::VectorXd::LinSpaced(dimensions, 0.4, 0.9), noise_sd};
}

Eigen::MatrixXd basis_of(const Eigen::MatrixXd& x) {
  Eigen::MatrixXd basis(x.rows(), 2);
  basis << Eigen::VectorXd::Ones(x.rows()), x.col(0);
  return basis;
}

double largest_difference(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

TEST(Gp, InterpolatesNoiselessData) {
  const GpData data = smooth_data(12, 2, 0, 31);
  const Gp gp = Gp::with_hyperparameters(data, some_hyperparameters(2, 0));
  const GpPrediction at_data = gp.predict(data.x);
  EXPECT_LT(largest_difference(at_data.mean, data.y), 1e-7);
  EXPECT_LT(at_data.variance.maxCoeff(), 1e-7);
}

TEST(Gp, AllWaysOfPredictingAgree) {
  const Eigen::MatrixXd query = 1.5 * random_matrix(21, 3, 32);
  for (const bool with_basis : {false, true}) {
    const GpData data = with_basis ? data_with_basis(70, 3, 0.1, 33) : smooth_data(70, 3, 0.1, 33);
    const Eigen::MatrixXd basis = with_basis ? basis_of(query) : Eigen::MatrixXd();
    const Gp gp = Gp::with_hyperparameters(data, some_hyperparameters(3));
    const GpPrediction alone = gp.predict(query, basis);
    const GpJointPrediction joint = gp.joint(query, basis);
    EXPECT_LT(largest_difference(alone.mean, joint.mean), 1e-10);
    EXPECT_LT(largest_difference(alone.mean, gp.mean(query, basis)), 1e-10);
    EXPECT_LT(largest_difference(alone.variance, joint.covariance.diagonal()), 1e-10);
    EXPECT_EQ(largest_difference(joint.covariance, joint.covariance.transpose()), 0);
  }
}

TEST(Gp, FarAwayThePriorReturns) {
  const GpData data = smooth_data(8, 1, 0.1, 34);
  const Gp gp = Gp::with_hyperparameters(data, some_hyperparameters(1));
  const GpPrediction far = gp.predict(Eigen::MatrixXd::Constant(1, 1, 1e6));
  EXPECT_NEAR(far.mean[0], data.y.mean(), 1e-12);
  EXPECT_NEAR(far.variance[0], 1.3 * 1.3, 1e-12);
}

TEST(Gp, RecoversALinearMean) {
  GpData data;
  data.x = random_matrix(9, 2, 35);
  data.basis = basis_of(data.x);
  data.y = data.basis * Eigen::Vector2d(5e6, -3e6);
  const Gp gp = Gp::fit(data);
  EXPECT_NEAR(gp.beta()[0], 5e6, 1);
  EXPECT_NEAR(gp.beta()[1], -3e6, 1);
  const Eigen::MatrixXd query = 10 * random_matrix(5, 2, 36);
  const Eigen::VectorXd expected = basis_of(query) * Eigen::Vector2d(5e6, -3e6);
  EXPECT_LT(largest_difference(gp.mean(query, basis_of(query)), expected), 10);
}

TEST(Gp, UncertaintyOfTheMeanGrowsWithTheDistance) {
  const Gp gp = Gp::with_hyperparameters(data_with_basis(6, 1, 0.1, 37), some_hyperparameters(1));
  const Eigen::MatrixXd query = Eigen::Vector3d(5, 50, 500);
  const Eigen::VectorXd variance = gp.predict(query, basis_of(query)).variance;
  EXPECT_GT(variance[1], 10 * variance[0]);
  EXPECT_GT(variance[2], 10 * variance[1]);
}

TEST(Gp, BasisUnitsDoNotMatter) {
  GpData data = data_with_basis(10, 2, 0.1, 38);
  const Gp plain = Gp::fit(data);
  data.basis.col(1) *= 1e9;
  const Gp scaled = Gp::fit(data);
  EXPECT_NEAR(scaled.beta()[1] * 1e9, plain.beta()[1], 1e-6);
  // A flat prior has no scale: only the constant of the density changes.
  EXPECT_NEAR(scaled.log_marginal_likelihood(), plain.log_marginal_likelihood() - std::log(1e9), 1e-6);
}

TEST(Gp, AddPointEqualsStartingAgain) {
  for (const bool with_basis : {false, true}) {
    const GpData all = with_basis ? data_with_basis(30, 2, 0.1, 39) : smooth_data(30, 2, 0.1, 39);
    GpData part = all;
    part.x.conservativeResize(5, Eigen::NoChange);
    part.y.conservativeResize(5);
    if (with_basis) {
      part.basis.conservativeResize(5, Eigen::NoChange);
      part.noise_weights.conservativeResize(5);
    }
    Gp grown = Gp::with_hyperparameters(part, some_hyperparameters(2));
    for (Eigen::Index i = 5; i < 30; ++i) {
      const Eigen::VectorXd row = with_basis ? Eigen::VectorXd(all.basis.row(i)) : Eigen::VectorXd();
      grown.add_point(all.x.row(i), all.y[i], row, with_basis ? all.noise_weights[i] : 1);
    }
    const Gp fresh = Gp::with_hyperparameters(all, some_hyperparameters(2));
    const Eigen::MatrixXd query = random_matrix(9, 2, 40);
    const Eigen::MatrixXd basis = with_basis ? basis_of(query) : Eigen::MatrixXd();
    EXPECT_EQ(grown.size(), 30);
    EXPECT_LT(largest_difference(grown.mean(query, basis), fresh.mean(query, basis)), 1e-9);
    EXPECT_LT(largest_difference(grown.joint(query, basis).covariance, fresh.joint(query, basis).covariance),
              1e-9);
    EXPECT_NEAR(grown.log_marginal_likelihood(), fresh.log_marginal_likelihood(), 1e-9);
  }
}

TEST(Gp, AddingTheSamePointWithoutNoiseNeedsJitter) {
  const GpData data = smooth_data(5, 1, 0, 41);
  Gp gp = Gp::with_hyperparameters(data, some_hyperparameters(1, 0));
  EXPECT_EQ(gp.summary().jitter, 0);
  gp.add_point(data.x.row(2), data.y[2]);
  EXPECT_GT(gp.summary().jitter, 0);
  EXPECT_LT(largest_difference(gp.mean(data.x), data.y), 1e-5);
}

TEST(Gp, HeavyNoiseWeightsCountLess) {
  GpData data = smooth_data(2, 1, 0, 42);
  data.x << 0.5, 0.5;
  data.y << 0, 1;
  data.noise_weights = Eigen::Vector2d(1, 9);
  GpOptions options;
  options.subtract_mean = false;
  const Gp gp = Gp::with_hyperparameters(data, {1e3, Eigen::VectorXd::Ones(1), 0.1}, options);
  const double x = 0.5;
  EXPECT_NEAR(gp.mean_at(&x), 0.1, 1e-5);
}

// Holds for any kernel and any point, given the hyperparameters.
RC_GTEST_PROP(Gp, VarianceNeverGrowsWhenAPointIsAdded, ()) {
  const auto n = *rc::gen::inRange(3, 15);
  const auto seed = *rc::gen::inRange(0U, 100000U);
  const auto with_basis = *rc::gen::arbitrary<bool>();
  GpOptions options;
  options.kernel = *rc::gen::element(KernelType::kMatern12, KernelType::kMatern52);
  const GpData data = with_basis ? data_with_basis(n, 2, 0.2, seed) : smooth_data(n, 2, 0.2, seed);
  Gp gp = Gp::with_hyperparameters(data, some_hyperparameters(2), options);
  const Eigen::MatrixXd query = 1.5 * random_matrix(11, 2, seed + 5);
  const Eigen::MatrixXd basis = with_basis ? basis_of(query) : Eigen::MatrixXd();
  const Eigen::VectorXd before = gp.predict(query, basis).variance;
  const Eigen::MatrixXd x = 1.5 * random_matrix(1, 2, seed + 6);
  gp.add_point(x.row(0), 1, with_basis ? Eigen::VectorXd(basis_of(x).row(0)) : Eigen::VectorXd());
  const Eigen::VectorXd after = gp.predict(query, basis).variance;
  RC_ASSERT((after.array() <= before.array() + 1e-9 * (1 + before.array())).all());
  RC_ASSERT((after.array() >= 0).all());
}

TEST(Gp, LeavingOneOutIsWhatTheOthersPredict) {
  GpData data;
  data.x = Eigen::VectorXd::LinSpaced(9, 0, 4);
  data.y = data.x.array().sin() + (7 * data.x.array()).cos() * 0.05;
  GpOptions options;
  options.subtract_mean = false;
  const Gp all = Gp::fit(data, options);
  const Eigen::VectorXd z = all.leave_one_out();
  for (Eigen::Index i = 0; i < 9; ++i) {
    GpData others;
    others.x.resize(8, 1);
    others.y.resize(8);
    for (Eigen::Index j = 0, k = 0; j < 9; ++j) {
      if (j == i) continue;
      others.x(k, 0) = data.x(j, 0);
      others.y(k++) = data.y(j);
    }
    const Gp rest = Gp::with_hyperparameters(others, all.hyperparameters(), options);
    const GpPrediction p = rest.predict(data.x.row(i));
    const double noise = all.hyperparameters().noise_sd;
    EXPECT_NEAR(z(i), (data.y(i) - p.mean(0)) / std::sqrt(p.variance(0) + noise * noise), 1e-4);
  }
}

}  // namespace
}  // namespace ampere

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

double largest_difference(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

TEST(Gp, InterpolatesNoiselessData) {
  const GpData data = smooth_data(12, 2, 0, 31);
  const Gp gp(data, some_hyperparameters(2, 0));
  const GpPrediction at_data = gp.predict(data.x);
  EXPECT_LT(largest_difference(at_data.mean, data.y), 1e-7);
  EXPECT_LT(at_data.variance.maxCoeff(), 1e-7);
}

TEST(Gp, AllWaysOfPredictingAgree) {
  const Eigen::MatrixXd query = 1.5 * random_matrix(21, 3, 32);
  for (const bool weighted : {false, true}) {
    const GpData data = weighted ? weighted_data(70, 3, 0.1, 33) : smooth_data(70, 3, 0.1, 33);
    const Gp gp(data, some_hyperparameters(3));
    const GpPrediction alone = gp.predict(query);
    const GpJointPrediction joint = gp.joint(query);
    EXPECT_LT(largest_difference(alone.mean, joint.mean), 1e-10);
    for (Eigen::Index i = 0; i < query.rows(); ++i) {
      const Eigen::VectorXd point = query.row(i);
      EXPECT_NEAR(alone.mean(i), gp.mean_at(point.data()), 1e-10);
    }
    EXPECT_LT(largest_difference(alone.variance, joint.covariance.diagonal()), 1e-10);
    EXPECT_EQ(largest_difference(joint.covariance, joint.covariance.transpose()), 0);
  }
}

TEST(Gp, FarAwayThePriorReturns) {
  const GpData data = smooth_data(8, 1, 0.1, 34);
  const Gp gp(data, some_hyperparameters(1));
  const GpPrediction far = gp.predict(Eigen::MatrixXd::Constant(1, 1, 1e6));
  EXPECT_NEAR(far.mean[0], data.y.mean(), 1e-12);
  EXPECT_NEAR(far.variance[0], 1.3 * 1.3, 1e-12);
}

TEST(Gp, HeavyNoiseWeightsCountLess) {
  GpData data = smooth_data(2, 1, 0, 42);
  data.x << 0.5, 0.5;
  data.y << 0, 1;
  data.noise_weights = Eigen::Vector2d(1, 9);
  const Gp gp(data, {1e3, Eigen::VectorXd::Ones(1), 0.1});
  const double x = 0.5;
  EXPECT_NEAR(gp.mean_at(&x), 0.1, 1e-5);
}

TEST(Gp, RepeatedPointsWithoutNoiseNeedJitter) {
  GpData data = smooth_data(6, 1, 0, 41);
  data.x.row(5) = data.x.row(2);
  data.y[5] = data.y[2];
  const Gp gp(data, some_hyperparameters(1, 0));
  EXPECT_LT(largest_difference(gp.predict(data.x).mean, data.y), 1e-5);
}

// Holds for any kernel and any point, given the hyperparameters.
RC_GTEST_PROP(Gp, VarianceNeverGrowsWhenAPointIsAdded, ()) {
  const auto n = *rc::gen::inRange(3, 15);
  const auto seed = *rc::gen::inRange(0U, 100000U);
  const auto kernel = *rc::gen::element(KernelType::kMatern12, KernelType::kMatern52);
  const auto weighted = *rc::gen::arbitrary<bool>();
  const GpData more = weighted ? weighted_data(n + 1, 2, 0.2, seed) : smooth_data(n + 1, 2, 0.2, seed);
  GpData data{more.x.topRows(n), more.y.head(n), {}};
  if (weighted) data.noise_weights = more.noise_weights.head(n);
  const Eigen::MatrixXd query = 1.5 * random_matrix(11, 2, seed + 5);
  const Eigen::VectorXd before = Gp(data, some_hyperparameters(2), kernel).predict(query).variance;
  const Eigen::VectorXd after = Gp(more, some_hyperparameters(2), kernel).predict(query).variance;
  RC_ASSERT((after.array() <= before.array() + 1e-9 * (1 + before.array())).all());
  RC_ASSERT((after.array() >= 0).all());
}

}  // namespace
}  // namespace ampere

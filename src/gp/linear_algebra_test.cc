// Tests of exp_minus and cholesky: the arithmetic under the Gaussian process.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <numbers>

#include "gp/cholesky.h"
#include "gp/exp_minus.h"
#include "gp/large_cholesky.h"
#include "gp/test_points.h"

namespace ampere {
namespace {

Eigen::MatrixXd positive_definite(Eigen::Index n, unsigned seed) {
  const Eigen::MatrixXd a = random_matrix(n, n, seed);
  return a * a.transpose() + Eigen::MatrixXd::Identity(n, n);
}

double relative_error(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return (a - b).norm() / b.norm();
}

const Eigen::Index kSizes[] = {1, 2, 3, 4, 5, 16, 17, 33, 70, 150};

TEST(ExpMinus, MatchesTheStandardLibrary) {
  for (double x = 0; x < 708 * 708; x = x * 1.02 + 1e-8) {
    double root = 0;
    double mine = 0;
    exp_minus_root(1, 1, &x, &root, &mine);
    EXPECT_NEAR(mine / std::exp(-root), 1, 5e-16) << x;
  }
  const double ends[] = {0, 708 * 708, 1e300};
  double roots[3];
  double values[3];
  exp_minus_root(3, 1, ends, roots, values);
  EXPECT_EQ(values[0], 1);
  EXPECT_GT(values[1], 0);
  EXPECT_EQ(values[2], values[1]);
}

TEST(ExpMinus, IsTheSameForOneNumberAndForMany) {
  const Eigen::VectorXd x = 40 * random_matrix(37, 1, 5);
  Eigen::VectorXd root(37);
  Eigen::VectorXd many(37);
  exp_minus_root(37, 3, x.data(), root.data(), many.data());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    EXPECT_EQ(root[i], std::sqrt(3 * x[i]));
    double same_root = 0;
    double one = 0;
    exp_minus_root(1, 3, &x[i], &same_root, &one);
    EXPECT_EQ(many[i], one);
  }
}

TEST(Cholesky, FactorsInvertsAndSquares) {
  for (const Eigen::Index n : kSizes) {
    const Eigen::MatrixXd a = positive_definite(n, 11);
    Eigen::MatrixXd work = a;
    ASSERT_TRUE(cholesky_in_place(&work));
    const Eigen::MatrixXd lower = work.triangularView<Eigen::Lower>();
    EXPECT_LT(relative_error(lower * lower.transpose(), a), 1e-13);
    invert_lower_in_place(work);
    const Eigen::MatrixXd inverse = work.triangularView<Eigen::Lower>();
    EXPECT_LT((inverse * lower - Eigen::MatrixXd::Identity(n, n)).norm(), 1e-11) << n;
    square_lower_in_place(work);
    const Eigen::MatrixXd squared = work.selfadjointView<Eigen::Lower>();
    EXPECT_LT(relative_error(squared, a.inverse()), 1e-11) << n;
  }
}

TEST(Cholesky, RefusesSingularMatrices) {
  Eigen::MatrixXd ones = Eigen::MatrixXd::Ones(5, 5);
  EXPECT_FALSE(cholesky_in_place(&ones));
  Eigen::MatrixXd negative = -Eigen::MatrixXd::Identity(2, 2);
  EXPECT_FALSE(cholesky_in_place(&negative));
}

TEST(LargeCholesky, IsThatOfThePlainOne) {
  for (const Eigen::Index n : {1, 7, 129, 300}) {
    const Eigen::MatrixXd a = positive_definite(n, 14);
    Eigen::MatrixXd plain = a, large = a;
    ASSERT_TRUE(cholesky_in_place(&plain));
    ASSERT_TRUE(continue_cholesky(&large, 0));
    const Eigen::MatrixXd lower = plain.triangularView<Eigen::Lower>();
    const Eigen::MatrixXd mine = large.triangularView<Eigen::Lower>();
    EXPECT_LT(relative_error(mine, lower), 1e-13) << n;
  }
}

TEST(LargeCholesky, GoesOnWhereTheFirstRowsAreDone) {
  for (const Eigen::Index done : {1, 100, 128, 250, 299}) {
    const Eigen::MatrixXd a = positive_definite(300, 15);
    Eigen::MatrixXd plain = a, again = a;
    ASSERT_TRUE(cholesky_in_place(&plain));
    again.topRows(done) = plain.topRows(done);
    ASSERT_TRUE(continue_cholesky(&again, done));
    const Eigen::MatrixXd lower = plain.triangularView<Eigen::Lower>();
    const Eigen::MatrixXd mine = again.triangularView<Eigen::Lower>();
    EXPECT_LT(relative_error(mine, lower), 1e-13) << done;
  }
}

TEST(LargeCholesky, RefusesSingularMatrices) {
  Eigen::MatrixXd ones = Eigen::MatrixXd::Ones(300, 300);
  EXPECT_FALSE(continue_cholesky(&ones, 0));
}

TEST(LargeCholesky, SolvesForColumns) {
  for (const Eigen::Index n : {1, 7, 129, 300}) {
    for (const Eigen::Index count : {1, 5, 64}) {
      Eigen::MatrixXd lower = positive_definite(n, 16);
      ASSERT_TRUE(cholesky_in_place(&lower));
      const Eigen::MatrixXd asked = random_matrix(n, count, 17);
      Eigen::MatrixXd solved = Eigen::MatrixXd::Constant(n, count + 1, 3.0);  // the last is nobody's business
      solved.leftCols(count) = asked;
      PackedFactor(lower).solve(solved.leftCols(count));
      const Eigen::MatrixXd back = lower.triangularView<Eigen::Lower>() * solved.leftCols(count);
      EXPECT_LT(relative_error(back, asked), 1e-12) << n << " " << count;
      EXPECT_EQ((solved.col(count).array() - 3).abs().maxCoeff(), 0);
    }
  }
}

TEST(Cholesky, JitterGrowsAndEnds) {
  int steps = 0;
  for (double jitter = 0; jitter >= 0 && steps < 100; ++steps) {
    const double next = next_jitter(jitter);
    if (next >= 0) {
      EXPECT_GT(next, jitter);
    }
    jitter = next;
  }
  EXPECT_EQ(steps, 10);
}

TEST(Condition, IsTheTextbookFormula) {
  const Eigen::Index n = 9;
  const Eigen::MatrixXd covariance = positive_definite(n, 14);
  const Eigen::VectorXd y = random_matrix(n, 1, 15);
  Conditioning conditioning;
  conditioning.chol = covariance;
  ASSERT_TRUE(condition(y, &conditioning));
  const Eigen::VectorXd alpha = covariance.inverse() * y;
  EXPECT_LT(relative_error(conditioning.alpha, alpha), 1e-11);
  const double expected =
      -0.5 * (y.dot(alpha) + std::log(covariance.determinant()) + n * std::log(2 * std::numbers::pi));
  EXPECT_NEAR(conditioning.log_likelihood, expected, 1e-10);
}

}  // namespace
}  // namespace ampere

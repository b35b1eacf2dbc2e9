#include "gp/kernel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gp/test_points.h"

namespace ampere {
namespace {

struct KernelCase {
  KernelType type;
  double nu;
};

const std::vector<KernelCase> kCases = {
    {KernelType::kMatern12, 0},
    {KernelType::kMatern32, 0},
    {KernelType::kMatern52, 0},
    {KernelType::kMatern, 0.7},
    {KernelType::kMatern, 1},
    {KernelType::kMatern, 1.3},
    {KernelType::kMatern, 2},
    {KernelType::kMatern, 3.3},
    {KernelType::kMatern, 12},
    {KernelType::kMatern, 30},
    {KernelType::kSquaredExponential, 0},
};

double value(const Kernel& kernel, double r2) {
  double k = 0;
  kernel.evaluate(1, &r2, &k, nullptr);
  return k;
}

TEST(Kernel, SlopeMatchesFiniteDifferences) {
  for (const KernelCase& c : kCases) {
    const auto kernel = make_kernel(c.type, c.nu);
    for (double r2 : {1e-3, 0.1, 0.7, 1.0, 4.0, 30.0}) {
      double k = 0;
      double slope = 0;
      kernel->evaluate(1, &r2, &k, &slope);
      const double h = 1e-5 * r2;
      const double expected = (value(*kernel, r2 + h) - value(*kernel, r2 - h)) / (2 * h);
      EXPECT_NEAR(slope, expected, 1e-7 * std::max(1.0, std::abs(expected)))
          << to_word(c.type) << c.nu << " at " << r2;
      EXPECT_DOUBLE_EQ(k, value(*kernel, r2));
    }
  }
}

TEST(Kernel, IsOneAtZeroAndItsSlopeIsFinite) {
  for (const KernelCase& c : kCases) {
    const auto kernel = make_kernel(c.type, c.nu);
    const double r2 = 0;
    double k = 0;
    double slope = 0;
    kernel->evaluate(1, &r2, &k, &slope);
    EXPECT_EQ(k, 1) << to_word(c.type) << c.nu;
    EXPECT_LT(slope, 0) << to_word(c.type) << c.nu;
    EXPECT_EQ(slope * 0, 0) << to_word(c.type) << c.nu;
  }
}

TEST(Kernel, FallsToZeroWithoutNonsense) {
  for (const KernelCase& c : kCases) {
    const auto kernel = make_kernel(c.type, c.nu);
    double before = 1;
    for (double r2 = 1e-30; r2 < 1e12; r2 *= 3) {
      const double k = value(*kernel, r2);
      EXPECT_LE(k, before + 1e-12) << to_word(c.type) << c.nu << " at " << r2;
      EXPECT_GE(k, 0) << to_word(c.type) << c.nu << " at " << r2;
      before = k;
    }
    EXPECT_LT(before, 1e-100);
  }
}

TEST(Kernel, GeneralMaternEqualsTheClosedForms) {
  const std::vector<std::pair<double, KernelType>> pairs = {
      {0.5, KernelType::kMatern12}, {1.5, KernelType::kMatern32}, {2.5, KernelType::kMatern52}};
  for (const auto& [nu, type] : pairs) {
    const auto general = make_kernel(KernelType::kMatern, nu);
    const auto closed = make_kernel(type);
    for (double r2 : {0.0, 1e-20, 1e-12, 1e-6, 0.01, 0.5, 3.0, 200.0}) {
      double k[2];
      double slope[2];
      general->evaluate(1, &r2, &k[0], &slope[0]);
      closed->evaluate(1, &r2, &k[1], &slope[1]);
      EXPECT_NEAR(k[0], k[1], 1e-14) << nu << " at " << r2;
      if (r2 > 0 || nu > 1) {
        EXPECT_NEAR(slope[0] / slope[1], 1, 1e-10) << nu << " at " << r2;
      }
    }
  }
}

TEST(Kernel, WorksInPlaceAndOnManyValues) {
  for (const KernelCase& c : kCases) {
    const auto kernel = make_kernel(c.type, c.nu);
    const Eigen::VectorXd r2 = 5 * random_matrix(611, 1, 3);
    Eigen::VectorXd k = r2;
    kernel->evaluate(611, k.data(), k.data(), nullptr);
    for (Eigen::Index i = 0; i < r2.size(); ++i) EXPECT_EQ(k[i], value(*kernel, r2[i]));
  }
}

TEST(Kernel, WordsAreInverse) {
  for (const KernelCase& c : kCases) EXPECT_EQ(kernel_from_word(to_word(c.type)), c.type);
  EXPECT_THROW(kernel_from_word("linear"), Error);
  EXPECT_THROW(make_kernel(KernelType::kMatern, 0), Error);
  EXPECT_THROW(make_kernel(KernelType::kMatern, 31), Error);
  EXPECT_THROW(make_kernel(KernelType::kMatern, std::nan("")), Error);
}

// Any set of points gives a covariance without negative eigenvalues (beyond rounding).
RC_GTEST_PROP(Kernel, IsPositiveSemiDefinite, ()) {
  const auto c = *rc::gen::elementOf(kCases);
  const auto n = *rc::gen::inRange(1, 12);
  const auto d = *rc::gen::inRange(1, 5);
  const auto seed = *rc::gen::arbitrary<unsigned>();
  const auto spread = std::pow(10.0, *rc::gen::inRange(-4, 3));
  const Eigen::MatrixXd x = spread * random_matrix(n, d, seed);
  const auto kernel = make_kernel(c.type, c.nu);
  Eigen::MatrixXd k(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) k(i, j) = value(*kernel, (x.row(i) - x.row(j)).squaredNorm());
  }
  RC_ASSERT(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(k).eigenvalues().minCoeff() > -1e-12 * n);
}

}  // namespace
}  // namespace ampere

#include "gp/kernel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <vector>

#include "gp/test_points.h"

namespace ampere {
namespace {

const std::vector<KernelType> kKernels = {KernelType::kMatern12, KernelType::kMatern52};

const char* name(KernelType type) { return type == KernelType::kMatern12 ? "Matern 1/2" : "Matern 5/2"; }

double value(KernelType type, double r2) {
  double k = 0;
  correlate(type, 1, &r2, &k, nullptr);
  return k;
}

TEST(Kernel, SlopeMatchesFiniteDifferences) {
  for (const KernelType type : kKernels) {
    for (double r2 : {1e-3, 0.1, 0.7, 1.0, 4.0, 30.0}) {
      double k = 0;
      double slope = 0;
      correlate(type, 1, &r2, &k, &slope);
      const double h = 1e-5 * r2;
      const double expected = (value(type, r2 + h) - value(type, r2 - h)) / (2 * h);
      EXPECT_NEAR(slope, expected, 1e-7 * std::max(1.0, std::abs(expected))) << name(type) << " at " << r2;
      EXPECT_DOUBLE_EQ(k, value(type, r2));
    }
  }
}

TEST(Kernel, IsOneAtZeroAndItsSlopeIsFinite) {
  for (const KernelType type : kKernels) {
    const double r2 = 0;
    double k = 0;
    double slope = 0;
    correlate(type, 1, &r2, &k, &slope);
    EXPECT_EQ(k, 1) << name(type);
    EXPECT_LT(slope, 0) << name(type);
    EXPECT_EQ(slope * 0, 0) << name(type);
  }
}

TEST(Kernel, FallsToZeroWithoutNonsense) {
  for (const KernelType type : kKernels) {
    double before = 1;
    for (double r2 = 1e-30; r2 < 1e12; r2 *= 3) {
      const double k = value(type, r2);
      EXPECT_LE(k, before + 1e-12) << name(type) << " at " << r2;
      EXPECT_GE(k, 0) << name(type) << " at " << r2;
      before = k;
    }
    EXPECT_LT(before, 1e-100);
  }
}

// Rasmussen & Williams 2006, eq. 4.14, with s = sqrt(2 nu) r and c = 2^(1-nu) / Gamma(nu):
//   k = c s^nu K_nu(s),  dk/d(r2) = -c nu s^(nu-1) K_(nu-1)(s)
TEST(Kernel, EqualsTheGeneralMatern) {
  for (const KernelType type : kKernels) {
    const double nu = type == KernelType::kMatern12 ? 0.5 : 2.5;
    const double c = std::exp2(1 - nu) / std::tgamma(nu);
    for (double r2 : {1e-20, 1e-12, 1e-6, 0.01, 0.5, 3.0, 200.0}) {
      double k = 0;
      double slope = 0;
      correlate(type, 1, &r2, &k, &slope);
      const double s = std::sqrt(2 * nu * r2);
      EXPECT_NEAR(k, c * std::pow(s, nu) * boost::math::cyl_bessel_k(nu, s), 1e-14) << nu << " at " << r2;
      const double general = -c * nu * std::pow(s, nu - 1) * boost::math::cyl_bessel_k(std::abs(nu - 1), s);
      EXPECT_NEAR(general / slope, 1, 1e-10) << nu << " at " << r2;
    }
  }
}

TEST(Kernel, WorksInPlaceAndOnManyValues) {
  for (const KernelType type : kKernels) {
    const Eigen::VectorXd r2 = 5 * random_matrix(611, 1, 3);
    Eigen::VectorXd k = r2;
    correlate(type, 611, k.data(), k.data(), nullptr);
    for (Eigen::Index i = 0; i < r2.size(); ++i) EXPECT_EQ(k[i], value(type, r2[i]));
  }
}

// Any set of points gives a covariance without negative eigenvalues (beyond rounding).
RC_GTEST_PROP(Kernel, IsPositiveSemiDefinite, ()) {
  const auto type = *rc::gen::elementOf(kKernels);
  const auto n = *rc::gen::inRange(1, 12);
  const auto d = *rc::gen::inRange(1, 5);
  const auto seed = *rc::gen::arbitrary<unsigned>();
  const auto spread = std::pow(10.0, *rc::gen::inRange(-4, 3));
  const Eigen::MatrixXd x = spread * random_matrix(n, d, seed);
  Eigen::MatrixXd k(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) k(i, j) = value(type, (x.row(i) - x.row(j)).squaredNorm());
  }
  RC_ASSERT(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(k).eigenvalues().minCoeff() > -1e-12 * n);
}

}  // namespace
}  // namespace ampere

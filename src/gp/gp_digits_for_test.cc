// What the vector code computes, to the last digit: a line for each number, with how far another machine's
// may be off. tests/gp_digits_test.py compares what this program says in its versions.
#include <cmath>
#include <cstdio>
#include <vector>

#include "gp/exp_minus.h"
#include "gp/large_cholesky.h"
#include "gp/test_points.h"

namespace ampere {
namespace {

constexpr double kSameDigits = 0;
constexpr double kRounding = 1e-11;  // a sum of hundreds of products, in another order or fused

void say(const char* what, double tolerance, double value) {
  std::printf("%s %g %a\n", what, tolerance, value);
}

void say_exponentials() {
  Eigen::VectorXd x = 40 * random_matrix(1003, 1, 1).array().square();
  x(0) = 0;
  x(1) = 1e4;
  const auto n = static_cast<std::size_t>(x.size());
  std::vector<double> root(n), out(n);
  exp_minus_root(n, 5, x.data(), root.data(), out.data());
  for (const double v : root) say("root", kSameDigits, v);
  for (const double v : out) say("exp_minus_root", kSameDigits, v);
}

void say_factors() {
  const Eigen::VectorXd at = 30 * random_matrix(300, 1, 2);
  Eigen::MatrixXd k(at.size(), at.size());
  for (Eigen::Index j = 0; j < k.cols(); ++j) {
    for (Eigen::Index i = 0; i < k.rows(); ++i) {
      const double squared = std::pow(at(i) - at(j), 2);
      double distance = 0;
      exp_minus_root(1, 1, &squared, &distance, &k(i, j));
    }
    k(j, j) += 0.1;
  }
  continue_cholesky(&k, 0);
  for (Eigen::Index j = 0; j < k.cols(); j += 7) {
    for (Eigen::Index i = j; i < k.rows(); i += 11) say("cholesky", kRounding, k(i, j));
  }
}

}  // namespace
}  // namespace ampere

int main() {
  ampere::say_exponentials();
  ampere::say_factors();
}

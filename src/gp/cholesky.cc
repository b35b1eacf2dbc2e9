#include "gp/cholesky.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace ampere {
namespace {

constexpr double kFirstJitter = 1e-12;
constexpr double kLastJitter = 1e-4;
// Below this size plain loops beat the recursion.
constexpr Eigen::Index kLeaf = 16;

void invert_lower_leaf(Eigen::Ref<Eigen::MatrixXd> l) {
  const Eigen::Index n = l.rows();
  // Column j of the inverse from the last to the first: x_j = -X_below l_below x_jj, with X_below done.
  for (Eigen::Index j = n - 1; j >= 0; --j) {
    const double pivot = 1 / l(j, j);
    for (Eigen::Index i = n - 1; i > j; --i) {
      double sum = 0;
      for (Eigen::Index k = j + 1; k <= i; ++k) sum += l(i, k) * l(k, j);
      l(i, j) = -sum * pivot;
    }
    l(j, j) = pivot;
  }
}

void square_lower_leaf(Eigen::Ref<Eigen::MatrixXd> m) {
  const Eigen::Index n = m.rows();
  // Entry (i, j) needs rows i and below of columns i and j: going down a column, what is overwritten is
  // needed no more.
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = j; i < n; ++i) {
      double sum = 0;
      for (Eigen::Index k = i; k < n; ++k) sum += m(k, i) * m(k, j);
      m(i, j) = sum;
    }
  }
}

}  // namespace

bool is_safe_pivot(double pivot_squared, double largest, Eigen::Index n) {
  return pivot_squared > static_cast<double>(n) * std::numeric_limits<double>::epsilon() * largest;
}

bool cholesky_in_place(Eigen::MatrixXd* a) {
  const Eigen::Index n = a->rows();
  const double largest = a->diagonal().maxCoeff();
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> llt(*a);
  if (llt.info() != Eigen::Success) return false;
  const double smallest = a->diagonal().minCoeff();
  return is_safe_pivot(smallest * smallest, largest, n);
}

void invert_lower_in_place(Eigen::Ref<Eigen::MatrixXd> l) {
  const Eigen::Index n = l.rows();
  if (n <= kLeaf) return invert_lower_leaf(l);
  // [A 0; C B]^-1 = [A^-1 0; -B^-1 C A^-1  B^-1]
  const Eigen::Index half = n / 2;
  auto a = l.topLeftCorner(half, half);
  auto b = l.bottomRightCorner(n - half, n - half);
  auto c = l.bottomLeftCorner(n - half, half);
  b.triangularView<Eigen::Lower>().solveInPlace(c);
  a.triangularView<Eigen::Lower>().solveInPlace<Eigen::OnTheRight>(c);
  c *= -1;
  invert_lower_in_place(a);
  invert_lower_in_place(b);
}

void square_lower_in_place(Eigen::Ref<Eigen::MatrixXd> m) {
  const Eigen::Index n = m.rows();
  if (n <= kLeaf) return square_lower_leaf(m);
  // [A 0; C B]^T [A 0; C B] = [A^T A + C^T C  .; B^T C  B^T B]
  const Eigen::Index half = n / 2;
  auto a = m.topLeftCorner(half, half);
  auto b = m.bottomRightCorner(n - half, n - half);
  auto c = m.bottomLeftCorner(n - half, half);
  square_lower_in_place(a);
  a.selfadjointView<Eigen::Lower>().rankUpdate(c.transpose());
  c = b.transpose().triangularView<Eigen::Upper>() * c;
  square_lower_in_place(b);
}

bool condition(const Eigen::VectorXd& y, Conditioning* conditioning) {
  Eigen::MatrixXd& chol = conditioning->chol;
  Eigen::VectorXd& alpha = conditioning->alpha;
  if (!cholesky_in_place(&chol)) return false;
  alpha = y;
  chol.triangularView<Eigen::Lower>().solveInPlace(alpha);
  const double squares = alpha.squaredNorm();
  chol.transpose().triangularView<Eigen::Upper>().solveInPlace(alpha);
  const double log_determinant = 2 * chol.diagonal().array().log().sum();
  const double constant = static_cast<double>(y.size()) * std::log(2 * std::numbers::pi);
  conditioning->log_likelihood = -0.5 * (squares + log_determinant + constant);
  return true;
}

double next_jitter(double jitter) {
  if (jitter == 0) return kFirstJitter;
  return jitter * 10 > kLastJitter * 1.5 ? -1 : jitter * 10;
}

}  // namespace ampere

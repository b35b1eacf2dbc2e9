#include "gp/large_cholesky.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <limits>
#include <vector>

#include "gp/cholesky.h"
#include "gp/simd.h"

namespace ampere {
namespace {

constexpr Eigen::Index kPanel = 128;      // columns that are factored together
constexpr Eigen::Index kTileColumns = 6;  // with two vectors of rows: twelve sums stay in registers
constexpr Eigen::Index kRowsInCache = 256;

template <std::size_t kBytes>
struct VectorOf {
  typedef double Type __attribute__((vector_size(kBytes), aligned(8), may_alias));
};

// Rows in strips of so many, column by column, and zeros after the last.
std::vector<double> in_strips(const Eigen::Ref<const Eigen::MatrixXd>& rows, Eigen::Index strip) {
  const Eigen::Index strips = (rows.rows() + strip - 1) / strip;
  std::vector<double> out(static_cast<std::size_t>(strips * strip * rows.cols()), 0.0);
  double* to = out.data();
  for (Eigen::Index first = 0; first < rows.rows(); first += strip) {
    const Eigen::Index count = std::min(strip, rows.rows() - first);
    for (Eigen::Index k = 0; k < rows.cols(); ++k, to += strip)
      std::copy_n(rows.data() + k * rows.outerStride() + first, count, to);
  }
  return out;
}

// What both sides of a product are, packed, and what it is taken off.
struct Product {
  const double *left, *right;
  Eigen::Index depth, rows, columns;
  Eigen::Index below;  // rows between the diagonal and the first row, at the first column
  double* from;
  Eigen::Index stride;
};

template <std::size_t kBytes>
AMPERE_SHARED_BODY void subtract_tile(const Product& p, Eigen::Index row, Eigen::Index column) {
  using Vector = typename VectorOf<kBytes>::Type;
  constexpr Eigen::Index kWidth = kBytes / sizeof(double), kRows = 2 * kWidth;
  const double* left = p.left + row * p.depth;
  const double* right = p.right + column * p.depth;
  Vector sums[kTileColumns][2] = {};
  for (Eigen::Index k = 0; k < p.depth; ++k, left += kRows, right += kTileColumns) {
    const Vector upper = *reinterpret_cast<const Vector*>(left);
    const Vector lower = *reinterpret_cast<const Vector*>(left + kWidth);
    for (Eigen::Index j = 0; j < kTileColumns; ++j) {
      sums[j][0] += upper * right[j];
      sums[j][1] += lower * right[j];
    }
  }
  const bool whole = row + kRows <= p.rows && column + kTileColumns <= p.columns &&
                     row + p.below >= column + kTileColumns - 1;
  for (Eigen::Index j = 0; j < std::min(kTileColumns, p.columns - column); ++j) {
    double* to = p.from + (column + j) * p.stride + row;
    if (whole) {
      *reinterpret_cast<Vector*>(to) -= sums[j][0];
      *reinterpret_cast<Vector*>(to + kWidth) -= sums[j][1];
      continue;
    }
    for (Eigen::Index i = 0; i < std::min(kRows, p.rows - row); ++i) {
      if (row + i + p.below >= column + j) to[i] -= sums[j][i / kWidth][i % kWidth];
    }
  }
}

// Of the rows that stay in the cache, all columns up to the diagonal.
template <std::size_t kBytes>
AMPERE_SHARED_BODY void subtract_all(const Product& p) {
  constexpr Eigen::Index kRows = 2 * kBytes / sizeof(double);
  for (Eigen::Index first = 0; first < p.rows; first += kRowsInCache) {
    const Eigen::Index end = std::min(first + kRowsInCache, p.rows);
    for (Eigen::Index column = 0; column < std::min(p.columns, end + p.below); column += kTileColumns) {
      const Eigen::Index from = std::max(first, (column - p.below) / kRows * kRows);
      for (Eigen::Index row = from; row < end; row += kRows) subtract_tile<kBytes>(p, row, column);
    }
  }
}

struct Version {
  Eigen::Index rows;  // of a tile
  void (*subtract)(const Product& p);
};

void subtract_plain(const Product& p) { subtract_all<16>(p); }
#if AMPERE_HAS_AVX2_VERSION
__attribute__((target("avx2,fma"))) void subtract_avx2(const Product& p) { subtract_all<32>(p); }
__attribute__((target("avx512f"))) void subtract_avx512(const Product& p) { subtract_all<64>(p); }
#endif

Version find_version() {
#if AMPERE_HAS_AVX2_VERSION
  if (__builtin_cpu_supports("avx512f")) return {16, subtract_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {8, subtract_avx2};
#endif
  return {4, subtract_plain};
}

const Version& version_here() {
  static const Version version = find_version();
  return version;
}

// c -= left * right^T where it is not above the diagonal, which lies `below` rows above the first of c;
// `left` is in strips of the version's rows.
void subtract_packed(const std::vector<double>& left, const Eigen::Ref<const Eigen::MatrixXd>& right,
                     Eigen::Index below, Eigen::Ref<Eigen::MatrixXd> c) {
  const std::vector<double> columns = in_strips(right, kTileColumns);
  version_here().subtract(
      {left.data(), columns.data(), right.cols(), c.rows(), c.cols(), below, c.data(), c.outerStride()});
}

void subtract_product(const Eigen::Ref<const Eigen::MatrixXd>& left,
                      const Eigen::Ref<const Eigen::MatrixXd>& right, Eigen::Index below,
                      const Eigen::Ref<Eigen::MatrixXd>& c) {
  subtract_packed(in_strips(left, version_here().rows), right, below, c);
}

}  // namespace

PackedFactor::PackedFactor(const Eigen::MatrixXd& factor) {
  const Eigen::Index n = factor.rows();
  for (Eigen::Index first = 0; first < n; first += kPanel) {
    const Eigen::Index width = std::min(kPanel, n - first), next = first + width;
    panels_.push_back({factor.block(first, first, width, width),
                       in_strips(factor.block(next, first, n - next, width), version_here().rows)});
  }
}

void PackedFactor::solve(Eigen::Ref<Eigen::MatrixXd> columns) const {
  Eigen::Index first = 0;
  for (const Panel& panel : panels_) {
    const Eigen::Index width = panel.corner.rows(), next = first + width, rest = columns.rows() - next;
    auto solved = columns.middleRows(first, width);
    panel.corner.triangularView<Eigen::Lower>().solveInPlace(solved);
    // So far below the diagonal that all of it counts.
    if (rest > 0)
      subtract_packed(panel.below, solved.transpose(), columns.cols(), columns.middleRows(next, rest));
    first = next;
  }
}

bool continue_cholesky(Eigen::MatrixXd* a, Eigen::Index done) {
  const Eigen::Index n = a->rows();
  double largest = 0;
  for (Eigen::Index i = 0; i < done; ++i) largest = std::max(largest, a->row(i).head(i + 1).squaredNorm());
  for (Eigen::Index i = done; i < n; ++i) largest = std::max(largest, (*a)(i, i));
  for (Eigen::Index first = 0; first < n;) {
    const Eigen::Index width = std::min(kPanel, (first < done ? done : n) - first);
    const Eigen::Index next = first + width, from = std::max(next, done);
    auto corner = a->block(first, first, width, width);
    if (first >= done) {
      const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> llt(corner);
      if (llt.info() != Eigen::Success) return false;
      if (!corner.diagonal().allFinite()) return false;
      const double smallest = corner.diagonal().minCoeff();
      if (!is_safe_pivot(smallest * smallest, largest, n)) return false;
    }
    if (from < n) {
      auto below = a->block(from, first, n - from, width);
      corner.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(below);
      subtract_product(below, a->block(next, first, n - next, width), from - next,
                       a->block(from, next, n - from, n - next));
    }
    first = next;
  }
  return true;
}

}  // namespace ampere

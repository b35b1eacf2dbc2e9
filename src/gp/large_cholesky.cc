#include "gp/large_cholesky.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <limits>
#include <vector>

#include "base/parallel.h"
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

using Rows = Eigen::Ref<const Eigen::MatrixXd>;

// What rows take in strips of so many, with zeros after the last.
std::vector<double> room_for_strips(const Rows& rows, Eigen::Index strip) {
  const Eigen::Index strips = (rows.rows() + strip - 1) / strip;
  return std::vector<double>(static_cast<std::size_t>(strips * strip * rows.cols()), 0.0);
}

// Strips one after the other, each column by column.
void pack(const Rows& rows, Eigen::Index strip, double* to) {
  for (Eigen::Index first = 0; first < rows.rows(); first += strip) {
    const Eigen::Index count = std::min(strip, rows.rows() - first);
    for (Eigen::Index k = 0; k < rows.cols(); ++k, to += strip)
      std::copy_n(rows.data() + k * rows.outerStride() + first, count, to);
  }
}

std::vector<double> in_strips(const Rows& rows, Eigen::Index strip) {
  std::vector<double> out = room_for_strips(rows, strip);
  pack(rows, strip, out.data());
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

// Of which the rows from `first` to before `end`.
struct SomeRows {
  Eigen::Index first, end;
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

// Of rows that stay in the cache, all columns up to the diagonal.
template <std::size_t kBytes>
AMPERE_SHARED_BODY void subtract_some(const Product& p, SomeRows rows) {
  constexpr Eigen::Index kRows = 2 * kBytes / sizeof(double);
  for (Eigen::Index column = 0; column < std::min(p.columns, rows.end + p.below); column += kTileColumns) {
    const Eigen::Index from = std::max(rows.first, (column - p.below) / kRows * kRows);
    for (Eigen::Index row = from; row < rows.end; row += kRows) subtract_tile<kBytes>(p, row, column);
  }
}

struct Version {
  Eigen::Index rows;  // of a tile
  void (*subtract)(const Product& p, SomeRows rows);
};

void subtract_plain(const Product& p, SomeRows rows) { subtract_some<16>(p, rows); }
#if AMPERE_HAS_AVX2_VERSION
__attribute__((target("avx2,fma"))) void subtract_avx2(const Product& p, SomeRows rows) {
  subtract_some<32>(p, rows);
}
__attribute__((target("avx512f"))) void subtract_avx512(const Product& p, SomeRows rows) {
  subtract_some<64>(p, rows);
}
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
template <class InPieces>
void subtract_packed(const std::vector<double>& left, const Rows& right, Eigen::Index below,
                     Eigen::Ref<Eigen::MatrixXd> c, const InPieces& in_pieces) {
  const std::vector<double> columns = in_strips(right, kTileColumns);
  const Product p{left.data(), columns.data(), right.cols(), c.rows(),
                  c.cols(),    below,          c.data(),     c.outerStride()};
  in_pieces(c.rows(), [&](SomeRows rows) { version_here().subtract(p, rows); });
}

// Rows that stay in the cache, one piece after the other.
template <class Work>
void one_by_one(Eigen::Index rows, const Work& work) {
  for (Eigen::Index first = 0; first < rows; first += kRowsInCache)
    work({first, std::min(first + kRowsInCache, rows)});
}

// The same on all cores; smaller pieces, so that all have enough to do.
template <class Work>
void together(Eigen::Index rows, const Work& work) {
  in_parallel(static_cast<std::size_t>(rows), kRowsInCache / 2, [&](std::size_t first, std::size_t end) {
    work(SomeRows{static_cast<Eigen::Index>(first), static_cast<Eigen::Index>(end)});
  });
}

// Columns of a factor below their corner: makes them so, and packs them for what they are to be taken off.
std::vector<double> solved_strips(const Rows& corner, Eigen::Ref<Eigen::MatrixXd> below) {
  const Eigen::Index strip = version_here().rows;
  std::vector<double> out = room_for_strips(below, strip);
  together(below.rows(), [&](SomeRows some) {
    auto rows = below.middleRows(some.first, some.end - some.first);
    corner.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(rows);
    pack(rows, strip, out.data() + some.first * below.cols());
  });
  return out;
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
      subtract_packed(panel.below, solved.transpose(), columns.cols(), columns.middleRows(next, rest),
                      [](Eigen::Index rows, const auto& work) { one_by_one(rows, work); });
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
      const std::vector<double> below = solved_strips(corner, a->block(from, first, n - from, width));
      subtract_packed(below, a->block(next, first, n - next, width), from - next,
                      a->block(from, next, n - from, n - next),
                      [](Eigen::Index rows, const auto& work) { together(rows, work); });
    }
    first = next;
  }
  return true;
}

}  // namespace ampere

#include "gp/whiten.h"

#include <algorithm>

#include "gp/simd.h"

namespace ampere {
namespace {

// Rows of L handled together. Four rows times eight lanes fill half of the vector registers with sums.
constexpr int kRows = 4;
constexpr int kLanes = Whitener::kLanes;

// Vectors of lanes, anywhere in an array of doubles.
struct Pair {
  using Vector = double __attribute__((vector_size(16), aligned(8), may_alias));
};
struct Quad {
  using Vector = double __attribute__((vector_size(32), aligned(8), may_alias));
};

// Solves for kRows values of two vectors of lanes. `panel` holds `first` columns of kRows factors, then a
// triangle of kRows columns whose diagonal is inverted.
template <typename Width>
AMPERE_SHARED_BODY void solve_panel(const double* panel, Eigen::Index first, double* lanes) {
  using Vector = typename Width::Vector;
  constexpr Eigen::Index kWidth = sizeof(Vector) / sizeof(double);
  const auto at = [lanes](Eigen::Index row, Eigen::Index half) -> Vector& {
    return *reinterpret_cast<Vector*>(lanes + row * kLanes + half * kWidth);
  };
  Vector sums[kRows][2];
  for (int r = 0; r < kRows; ++r) {
    for (int half = 0; half < 2; ++half) sums[r][half] = at(first + r, half);
  }
  for (Eigen::Index j = 0; j < first; ++j, panel += kRows) {
    const Vector left = at(j, 0);
    const Vector right = at(j, 1);
    for (int r = 0; r < kRows; ++r) {
      sums[r][0] -= panel[r] * left;
      sums[r][1] -= panel[r] * right;
    }
  }
  for (int c = 0; c < kRows; ++c, panel += kRows) {
    for (int half = 0; half < 2; ++half) {
      sums[c][half] *= panel[c];
      at(first + c, half) = sums[c][half];
      for (int r = c + 1; r < kRows; ++r) sums[r][half] -= panel[r] * sums[c][half];
    }
  }
}

template <typename Width>
AMPERE_SHARED_BODY void solve_all(const double* panels, Eigen::Index size, double* lanes) {
  constexpr int kStep = 2 * sizeof(typename Width::Vector) / sizeof(double);
  for (Eigen::Index first = 0; first < size; first += kRows) {
    for (int lane = 0; lane < kLanes; lane += kStep) solve_panel<Width>(panels, first, lanes + lane);
    panels += kRows * (first + kRows);
  }
}

#if AMPERE_HAS_AVX2_VERSION
AMPERE_FOR_AVX2 void solve_all_avx2(const double* panels, Eigen::Index size, double* lanes) {
  solve_all<Quad>(panels, size, lanes);
}
#endif

}  // namespace

Whitener::Whitener(const Eigen::MatrixXd& lower) : padded_size_((lower.rows() + kRows - 1) / kRows * kRows) {
  const Eigen::Index n = lower.rows();
  panels_.reserve(static_cast<std::size_t>(padded_size_ * (padded_size_ + kRows) / 2));
  for (Eigen::Index first = 0; first < n; first += kRows) {
    for (Eigen::Index column = 0; column < first + kRows; ++column) {
      for (Eigen::Index row = first; row < first + kRows; ++row) {
        const bool inside = row < n && column <= row;
        const double value = inside ? lower(row, column) : 0;
        panels_.push_back(inside && row == column ? 1 / value : value);
      }
    }
  }
}

void Whitener::apply(Lanes* lanes) const {
#if AMPERE_HAS_AVX2_VERSION
  if (machine_has_avx2()) return solve_all_avx2(panels_.data(), padded_size_, lanes->data());
#endif
  solve_all<Pair>(panels_.data(), padded_size_, lanes->data());
}

}  // namespace ampere

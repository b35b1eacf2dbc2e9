// Loops over the elements of several tensors at once, whatever their strides.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>

#include "onednn/value.h"

namespace ampere::onednn {

// K tensors with the same dimensions; a stride of 0 reads or adds up the same element again and again.
template <std::size_t K>
class Walk {
 public:
  using Places = std::array<std::int64_t, K>;

  Walk() = default;
  // The loops are put in the order in which the first tensor lies in memory.
  Walk(const Dims& dims, const std::array<Dims, K>& strides) {
    std::vector<std::size_t> order(dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return strides[0][a] > strides[0][b]; });
    for (const std::size_t i : order) {
      if (dims[i] == 1) continue;
      Loop loop{dims[i], {}};
      for (std::size_t k = 0; k < K; ++k) loop.steps[k] = strides[k][i];
      if (!loops_.empty() && follows(loops_.back(), loop)) {
        loops_.back() = {loops_.back().count * loop.count, loop.steps};
      } else {
        loops_.push_back(loop);
      }
    }
    if (loops_.empty()) loops_.push_back({1, {}});
  }

  // Calls f(places, count, steps) for every row of the innermost loop.
  template <class F>
  void rows(const F& f) const {
    Places at{};
    descend(0, at, f);
  }

 private:
  struct Loop {
    std::int64_t count;
    Places steps;
  };

  // Two loops that are one longer loop.
  static bool follows(const Loop& outer, const Loop& inner) {
    for (std::size_t k = 0; k < K; ++k) {
      if (outer.steps[k] != inner.steps[k] * inner.count) return false;
    }
    return true;
  }

  template <class F>
  void descend(std::size_t depth, Places at, const F& f) const {
    const Loop& loop = loops_[depth];
    if (depth + 1 == loops_.size()) {
      f(at, loop.count, loop.steps);
      return;
    }
    for (std::int64_t i = 0; i < loop.count; ++i) {
      descend(depth + 1, at, f);
      for (std::size_t k = 0; k < K; ++k) at[k] += loop.steps[k];
    }
  }

  std::vector<Loop> loops_;
};

}  // namespace ampere::onednn

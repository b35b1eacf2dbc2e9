// Tests of in_parallel: every number once, whatever the pieces are, and what pieces throw.
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace ampere {
namespace {

TEST(Parallel, DoesEveryNumberOnce) {
  for (const std::size_t count : {0, 1, 15, 16, 17, 1000}) {
    std::vector<std::atomic<int>> done(count);
    in_parallel(count, 16, [&](std::size_t begin, std::size_t end) {
      EXPECT_EQ(begin % 16, 0U);
      EXPECT_LE(end, count);
      for (std::size_t i = begin; i < end; ++i) ++done[i];
    });
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(Parallel, ThrowsWhatTheFirstPieceInOrderThrew) {
  std::atomic<int> pieces{0};
  try {
    in_parallel(100, 1, [&](std::size_t begin, std::size_t) {
      ++pieces;
      if (begin == 7 || begin == 90) throw std::runtime_error(std::to_string(begin));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "7");
  }
  EXPECT_GE(pieces, 8);
}

TEST(Parallel, WithinItself) {
  std::atomic<int> sum{0};
  in_parallel(8, 1, [&](std::size_t, std::size_t) {
    in_parallel(8, 1, [&](std::size_t begin, std::size_t) { sum += static_cast<int>(begin); });
  });
  EXPECT_EQ(sum, 8 * 28);
}

}  // namespace
}  // namespace ampere

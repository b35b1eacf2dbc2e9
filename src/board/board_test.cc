#include "board/board.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace ampere {
namespace {

Json boards() {
  std::ifstream in(BOARDS_FILE);
  std::ostringstream text;
  text << in.rdbuf();
  return parse_json(text.str(), BOARDS_FILE);
}

TEST(Boards, HaveSourcesAndSayWhatIsBelieved) {
  for (const Json& board : boards()) {
    EXPECT_FALSE(board.at("sources").empty()) << board.at("name");
    for (const Json& field : board.at("believed")) EXPECT_TRUE(board.contains(field)) << field;
    find_board(boards(), board.at("name"));
  }
  EXPECT_THROW(find_board(boards(), "toaster"), Error);
}

TEST(Boards, DrawWhatTheirCounterShows) {
  Board board(find_board(boards(), "jetson-agx-orin"));
  const double before = board.read().energy.value(), drawn = board.drawn_j();
  board.work(60, 1);
  EXPECT_NEAR((board.read().energy.value() - before) / (board.drawn_j() - drawn), 1, 0.005);
  EXPECT_NEAR(board.time().value(), 160, 1);
}

TEST(Boards, SlowDownWhenTheyAreWarmAndRecover) {
  Board board(find_board(boards(), "nexus-6p"));
  EXPECT_TRUE(board.state().throttle.empty());
  const double start = board.time().value();
  board.work(1200, 1);
  EXPECT_GT(board.time().value() - start, 1.15 * 1200);
  EXPECT_EQ(board.state().throttle.size(), 1U);
  EXPECT_NEAR(board.temperature_c(), 44, 2.5);
  board.rest(1200);
  EXPECT_TRUE(board.state().throttle.empty());
}

// A governor that went on while the board was cooling already would go down to the slowest clock.
TEST(Boards, GoNoFurtherDownWhileTheyCool) {
  const BoardSheet sheet = find_board(boards(), "jetson-tx2");
  Board board(sheet);
  board.work(1500, 1);
  double slowest = sheet.clocks_mhz.front();
  for (int i = 0; i < 300; ++i) {
    board.work(1, 1);
    slowest = std::min(slowest, board.state().clock_mhz.value_or(0));
  }
  EXPECT_GT(slowest, sheet.clocks_mhz[5]);
}

TEST(Boards, ShowWholeStepsOfTheirCounterOnly) {
  BoardSheet sheet = find_board(boards(), "pixel-7");
  Board board(sheet);
  const double first = board.read().energy.value();
  board.rest(0.2);
  EXPECT_EQ(board.read().energy.value(), first);
  board.rest(1);
  const double step = (board.read().energy.value() - first) / 0.01;
  EXPECT_GT(step, 0);
  EXPECT_NEAR(step, std::round(step), 1e-6);
}

}  // namespace
}  // namespace ampere

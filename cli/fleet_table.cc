#include "fleet_table.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/capped.h"
#include "base/plain_text.h"
#include "progress.h"
#include "text.h"

namespace ampere {
namespace {

constexpr std::chrono::milliseconds kBetweenDrawings(200);

}  // namespace

FleetTable::FleetTable(const Fleet& fleet, bool quiet)
    : fleet_(fleet), quiet_(quiet), terminal_(can_redraw()), rows_(fleet.devices.size()) {}

FleetTable::~FleetTable() {
  clear();
  if (!quiet_ && terminal_) std::fputs((summary() + "\n").c_str(), stderr);
}

void FleetTable::begins(std::size_t device, const std::string& what) {
  const std::lock_guard lock(mutex_);
  rows_[device] = {State::kWorks, what, ""};
  tell(device);
}

void FleetTable::steps(std::size_t device, const Step& step) {
  const std::lock_guard lock(mutex_);
  Row& row = rows_[device];
  row.how_far = fmt::format("{}/{}", step.done, step.of);
  if (step.seconds_left) row.how_far += ", " + duration_text(*step.seconds_left) + " left";
  draw(false);
}

void FleetTable::ends(std::size_t device, bool well, const std::string& what) {
  const std::lock_guard lock(mutex_);
  rows_[device] = {well ? State::kDone : State::kFailed, what, ""};
  tell(device);
}

std::string FleetTable::summary() const {
  const auto count = [&](State state) {
    return std::count_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.state == state; });
  };
  return fmt::format("{} devices: {} done, {} at work, {} waiting, {} failed", rows_.size(),
                     count(State::kDone), count(State::kWorks), count(State::kWaits), count(State::kFailed));
}

void FleetTable::tell(std::size_t device) {
  if (quiet_) return;
  const Row& row = rows_[device];
  if (!terminal_) {
    const std::string line = fmt::format("{}: {}{}", fleet_.devices[device].name,
                                         row.state == State::kFailed ? "failed: " : "", row.what);
    std::fputs((capped(plain_line(line), kUsualMessage) + "\n").c_str(), stderr);
    return;
  }
  draw(true);
}

void FleetTable::clear() {
  if (drawn_ > 0) std::fputs(fmt::format("\033[{}A\033[J", drawn_).c_str(), stderr);
  drawn_ = 0;
}

void FleetTable::draw(bool at_once) {
  const auto now = std::chrono::steady_clock::now();
  if (quiet_ || !terminal_ || (!at_once && now - drawn_at_ < kBetweenDrawings)) return;
  drawn_at_ = now;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 2;
  const std::size_t width = known ? size.ws_col : 80, height = known ? size.ws_row : 24;
  // Those at work first, then those that failed, as far as they fit below the summary.
  std::vector<std::string> lines = {summary()};
  for (const State state : {State::kWorks, State::kFailed}) {
    for (std::size_t i = 0; i < rows_.size() && lines.size() + 1 < height; ++i) {
      if (rows_[i].state != state) continue;
      const Row& row = rows_[i];
      lines.push_back(fmt::format("  {:<16} {} {}", fleet_.devices[i].name,
                                  state == State::kFailed ? "failed: " + row.what : row.what, row.how_far));
    }
  }
  clear();
  std::string text;
  for (const std::string& line : lines) text += plain_line(line).substr(0, width - 1) + "\n";
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  drawn_ = static_cast<int>(lines.size());
}

}  // namespace ampere

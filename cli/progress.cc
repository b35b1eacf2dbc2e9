#include "progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/capped.h"
#include "base/plain_text.h"
#include "text.h"

namespace ampere {

bool can_redraw() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && !(no_colour && *no_colour) &&
         !(terminal && std::strcmp(terminal, "dumb") == 0);
}

Progress::Progress(std::string title, bool quiet, std::chrono::milliseconds patience)
    : title_(std::move(title)), quiet_(quiet), terminal_(can_redraw()), patience_(patience) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void Progress::show(int done, int of, const std::string& what) {
  // What was done before the bar was made took none of its time.
  if (before_ < 0) before_ = std::max(0, done - 1);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  const int here = done - before_;
  draw(done, of, here > 0 ? duration_text(spent.count() / here * (of - done)) + " left" : "", what);
}

void Progress::show(int done, int of, double seconds_left, const std::string& what) {
  draw(done, of, duration_text(seconds_left) + " left", what);
}

void Progress::draw(int done, int of, const std::string& left, const std::string& what) {
  if (quiet_ || of <= 0 || std::chrono::steady_clock::now() - start_ < patience_) return;
  const double share = std::clamp(static_cast<double>(done) / of, 0.0, 1.0);
  if (!terminal_) {
    const int tenth = static_cast<int>(share * 10);
    if (tenth == last_tenth_) return;
    last_tenth_ = tenth;
    std::string line = fmt::format("{}: {}/{}", title_, done, of);
    for (const std::string& more : {left, what}) line += more.empty() ? "" : ", " + more;
    std::fputs((capped(plain_line(line), kUsualMessage) + "\n").c_str(), stderr);
    return;
  }
  winsize size{};
  const int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  const int bar = std::clamp(width / 4, 8, 30);
  const int full = static_cast<int>(share * bar);
  std::string line = fmt::format("{} [{}{}] {}/{}", title_, std::string(static_cast<std::size_t>(full), '#'),
                                 std::string(static_cast<std::size_t>(bar - full), '.'), done, of);
  for (const std::string& more : {left, what}) line += more.empty() ? "" : "  " + more;
  line = plain_line(line);
  if (static_cast<int>(line.size()) >= width) line.resize(static_cast<std::size_t>(width - 1));
  std::fputs(("\r\033[K" + line).c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

Countdown::Countdown(const std::string& title, double expected_seconds, bool quiet) : bar_(title, quiet) {
  if (bar_.redraws()) thread_ = std::thread([this, expected_seconds] { run(expected_seconds); });
}

Countdown::~Countdown() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Countdown::run(double expected_seconds) {
  constexpr std::chrono::seconds kNotWorthABar(2);
  constexpr std::chrono::milliseconds kBetween(500);
  const auto start = std::chrono::steady_clock::now();
  const int of = std::max(1, static_cast<int>(std::lround(expected_seconds)));
  std::unique_lock lock(mutex_);
  auto until = start + kNotWorthABar;
  while (!ended_.wait_until(lock, until, [this] { return end_; })) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    const int done = std::min(of, static_cast<int>(spent.count()));
    bar_.show(done, of, std::max(0.0, expected_seconds - spent.count()), "seconds");
    until = std::chrono::steady_clock::now() + kBetween;
  }
}

}  // namespace ampere

#include "progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "text.h"

namespace ampere {

Progress::Progress(std::string title, bool quiet)
    : title_(std::move(title)), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void Progress::show(int done, int of, double seconds_left, const std::string& what) {
  if (quiet_ || of <= 0) return;
  const double share = std::clamp(static_cast<double>(done) / of, 0.0, 1.0);
  if (!terminal_) {
    const int tenth = static_cast<int>(share * 10);
    if (tenth == last_tenth_) return;
    last_tenth_ = tenth;
    std::fputs(
        fmt::format("{}: {}/{}, {} left, {}\n", title_, done, of, duration_text(seconds_left), what).c_str(),
        stderr);
    return;
  }
  winsize size{};
  const int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  const int bar = std::clamp(width / 4, 8, 30);
  const int full = static_cast<int>(share * bar);
  std::string line = fmt::format(
      "{} [{}{}] {}/{}  {} left  {}", title_, std::string(static_cast<std::size_t>(full), '#'),
      std::string(static_cast<std::size_t>(bar - full), '.'), done, of, duration_text(seconds_left), what);
  if (static_cast<int>(line.size()) >= width) line.resize(static_cast<std::size_t>(width - 1));
  std::fputs(("\r\033[K" + line).c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace ampere

#include "text.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "base/capped.h"
#include "base/plain_text.h"

namespace ampere {
namespace {

constexpr int kUsualWidth = 100;
constexpr int kNarrowest = 40;
constexpr std::size_t kLongestCell = 300;

// Three significant digits with an SI prefix between nano and giga.
std::string scaled(double value, const char* unit) {
  if (!std::isfinite(value)) return "unknown";
  if (value == 0) return fmt::format("0 {}", unit);
  static const std::vector<std::pair<double, const char*>> prefixes = {
      {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
  double size = std::abs(value);
  for (const auto& [factor, prefix] : prefixes) {
    if (size < factor * 0.9995 && factor > 1e-9) continue;
    const double shown = value / factor;
    const int digits = std::abs(shown) < 9.995 ? 2 : std::abs(shown) < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}{}", shown, digits, prefix, unit);
  }
  return fmt::format("{:.3g} {}", value, unit);
}

// Bytes of UTF-8 that start a character.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string shortened(const std::string& text, std::size_t width) {
  if (width_of(text) <= width || width < 5) return text;
  std::vector<std::size_t> starts;  // of the characters
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) != 0x80) starts.push_back(i);
  }
  const std::size_t tail = (width - 2) / 2;
  return text.substr(0, starts[width - 2 - tail]) + ".." + text.substr(starts[starts.size() - tail]);
}

// For terminals that no table fits: a paragraph for each row, a line for each cell.
std::string as_records(const Table& table, std::size_t width) {
  std::size_t label = 0;
  for (const std::string& name : table.header) label = std::max(label, width_of(name));
  const std::size_t room = width > label + 16 ? width - label - 4 : 12;
  std::string out;
  for (const auto& row : table.rows) {
    out += shortened(row[0], width) + "\n";
    for (std::size_t c = 1; c < row.size(); ++c) {
      if (row[c].empty()) continue;
      if (width_of(row[c]) > room && row[c].find(' ') != std::string::npos) {  // on lines of its own
        out += "  " + table.header[c] + "\n    " + wrapped(row[c], 4, static_cast<int>(width) - 4);
        continue;
      }
      const std::string pad(label - width_of(table.header[c]), ' ');
      out += "  " + table.header[c] + pad + "  " + shortened(row[c], room) + "\n";
    }
  }
  return out;
}

}  // namespace

std::string joules_text(double j) { return scaled(j, "J"); }
std::string seconds_text(double s) {
  constexpr double kReadableAsMinutes = 600;  // nobody counts in kiloseconds
  return s >= kReadableAsMinutes && s < 1e9 ? duration_text(s) : scaled(s, "s");
}
std::string watts_text(double w) { return scaled(w, "W"); }
std::string count_text(double count) {
  std::string text = scaled(count, "");
  if (text.back() == ' ') text.pop_back();
  return text;
}
std::string percent_text(double fraction) {
  return fmt::format("{:.{}f}%", 100 * fraction, std::abs(fraction) < 0.0995 ? 1 : 0);
}

std::string how_known(const Estimate& estimate) {
  std::string out = estimate.modelled ? "modelled" : "";
  if (estimate.unmeasured > 0) out += out.empty() ? "not all measured" : ", not all measured";
  return out;
}

std::string interval_text(const Interval& i, std::string (*unit)(double)) {
  return fmt::format("{} ({} to {})", unit(i.value), unit(i.low), unit(i.high));
}

std::string duration_text(double seconds) {
  const auto s = static_cast<long>(std::lround(std::max(0.0, seconds)));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

std::string wrapped(const std::string& text, std::size_t indent, int width) {
  std::string out, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && width_of(line) + 1 + width_of(word) > static_cast<std::size_t>(width)) {
      out += line + "\n";
      line = std::string(indent, ' ') + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return out + line + "\n";
}

int terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::max<int>(kNarrowest, size.ws_col);
  }
  // Where a pager or a script knows the width and we cannot.
  if (const char* columns = std::getenv("COLUMNS"); columns && *columns) {
    char* end = nullptr;
    const long width = std::strtol(columns, &end, 10);
    if (*end == '\0' && width > 0) return static_cast<int>(std::clamp<long>(width, kNarrowest, 10000));
  }
  return kUsualWidth;
}

std::string Table::text(int width) const {
  std::vector<std::vector<std::string>> all = {header};
  all.insert(all.end(), rows.begin(), rows.end());
  for (auto& row : all) {
    for (std::string& cell : row) cell = capped(plain_line(cell), kLongestCell);
  }
  std::vector<std::size_t> widths(header.size(), 0);
  for (const auto& row : all) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::size_t total = 2 * (header.size() - 1);
  for (std::size_t w : widths) total += w;
  if (flexible >= 0 && total > static_cast<std::size_t>(width)) {
    auto& w = widths[static_cast<std::size_t>(flexible)];
    const std::size_t excess = total - static_cast<std::size_t>(width);
    const std::size_t least = std::min<std::size_t>(12, w);
    const std::size_t narrowed = std::max(least, w > excess ? w - excess : 0);
    total -= w - narrowed;
    w = narrowed;
  }
  if ((width < kUsualWidth || !may_overflow) && total > static_cast<std::size_t>(width))
    return as_records({all[0], {all.begin() + 1, all.end()}, right, flexible, may_overflow},
                      static_cast<std::size_t>(width));
  std::string out;
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < all[r].size(); ++c) {
      const std::string cell = shortened(all[r][c], widths[c]);
      const std::string pad(widths[c] - std::min(widths[c], width_of(cell)), ' ');
      line += (c ? "  " : "") + (c < right.size() && right[c] ? pad + cell : cell + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (r == 0) {
      std::size_t rule = 2 * (header.size() - 1);
      for (std::size_t w : widths) rule += w;
      out += std::string(rule, '-') + "\n";
    }
  }
  return out;
}

void print(const Table& table) { put(table.text(terminal_width())); }

void put(const std::string& text) { std::fputs(plain_text(text).c_str(), stdout); }

void say(const std::string& text) { put(wrapped(text, 2, terminal_width())); }

void put_message(const std::string& message, std::size_t most) {
  std::fputs(("ampere: " + capped(plain_text(message), most) + "\n").c_str(), stderr);
}

}  // namespace ampere

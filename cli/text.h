// What people read: numbers with units, and tables that fit the terminal.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "estimate/estimate.h"

namespace ampere {

// "1.23 mJ", "45.6 s": three digits and the prefix that suits.
std::string joules_text(double joules);
std::string seconds_text(double seconds);
std::string watts_text(double watts);
std::string count_text(double count);       // "12.3 M"
std::string percent_text(double fraction);  // "4.2%"
// "1.23 mJ (1.15 to 1.31)"
std::string interval_text(const Interval& interval, std::string (*unit)(double));
// "2 min 5 s"
std::string duration_text(double seconds);

// The text in lines of at most `width` characters, all but the first indented, each ended.
std::string wrapped(const std::string& text, std::size_t indent, int width);

// Columns of the terminal that standard output goes to; when it is not one, $COLUMNS, else 100.
int terminal_width();

// First row is the header. Columns named in `right` are aligned right. When the table is too wide, the
// longest cells of the `flexible` column are shortened in the middle; where that is not enough on
// a narrow terminal, or one that it may not overflow, each row becomes a paragraph.
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right;
  int flexible = -1;
  bool may_overflow = true;
  std::string text(int width) const;
};
void print(const Table& table);

// "modelled, not all measured"; empty where all of it was measured.
std::string how_known(const Estimate& estimate);

// Standard output and standard error, with whatever strangers put into names, notes and errors made harmless:
// no control character but newlines and tabs reaches the terminal (base/plain_text.h).
void put(const std::string& text);
template <class... Arguments>
void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  put(fmt::format(format, std::forward<Arguments>(arguments)...));
}
// A sentence, wrapped to the terminal.
void say(const std::string& text);
// "ampere: MESSAGE" on standard error, of at most about `most` bytes.
inline constexpr std::size_t kUsualMessage = 2000;
void put_message(const std::string& message, std::size_t most = kUsualMessage);

}  // namespace ampere

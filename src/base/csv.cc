#include "base/csv.h"

#include <charconv>
#include <string_view>

namespace ampere {
namespace {

bool is_number(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

std::string csv_cell(const std::string& text) {
  const bool formula = text.find_first_of("=+-@\t\r") == 0 && !is_number(text);
  const std::string cell = formula ? "'" + text : text;
  if (cell.find_first_of(",\"\n\r") == std::string::npos) return std::string(cell);
  std::string out = "\"";
  for (char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace ampere

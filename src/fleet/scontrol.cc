#include "fleet/scontrol.h"

#include <algorithm>
#include <cctype>

namespace ampere {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> cells;
  while (true) {
    const std::size_t end = std::min(text.find(separator), text.size());
    cells.emplace_back(text.substr(0, end));
    if (end == text.size()) return cells;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  lines.erase(std::remove(lines.begin(), lines.end(), ""), lines.end());
  return lines;
}

std::map<std::string, std::string> scontrol_fields(const std::string& line) {
  std::map<std::string, std::string> fields;
  std::string key;
  for (const std::string& word : split(line, ' ')) {
    const std::size_t equals = word.find('=');
    const bool is_field =
        equals != std::string::npos && equals > 0 &&
        std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
          return std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == ':' || c == '_';
        });
    if (is_field) {
      key = word.substr(0, equals);
      fields[key] = word.substr(equals + 1);
    } else if (!key.empty()) {
      fields[key] += " " + word;
    }
  }
  return fields;
}

}  // namespace ampere

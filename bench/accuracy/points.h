// Points that were measured on a real device, as tools/export_points writes them.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "layers/parse.h"

namespace ampere {

struct ExportedPoint {
  std::string run, recipe, point, key;
  Channels channels;
  double time_s = 0;
  double energy_j = 0;  // 0: not measured
  double host_s = 0;
  std::vector<std::string> kernels;  // empty: nobody can tell
};

inline std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::stringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

inline std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

inline std::vector<ExportedPoint> read_points(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw bad_input(path + ": cannot be read");
  std::vector<ExportedPoint> points;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const std::vector<std::string> f = cells_of(line);
    if (f.size() < 7) throw bad_input(path + ": a line has too few columns: " + line);
    const auto number = [&](std::size_t i) { return i < f.size() ? std::atof(f[i].c_str()) : 0; };
    points.push_back({f[0],
                      f[1],
                      f[2],
                      f[3],
                      {std::atoll(f[4].c_str()), std::atoll(f[5].c_str())},
                      number(6),
                      number(7),
                      number(8),
                      f.size() > 9 ? words_of(f[9]) : std::vector<std::string>{}});
  }
  return points;
}

}  // namespace ampere

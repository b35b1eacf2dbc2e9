#include "board/recorded_costs.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace ampere {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

}  // namespace

RecordedCosts::RecordedCosts(const std::vector<std::string>& paths, const std::string& recipe) {
  std::map<std::string, std::vector<Recorded>> times, powers;
  std::vector<double> watts;
  for (const std::string& path : paths) {
    std::ifstream in(path);
    if (!in) throw bad_input(path + ": cannot be read; name a file of tools/export_points with --points");
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      const std::vector<std::string> c = cells_of(line);  // run,recipe,point,key,in,out,time_s,energy_j,...
      if (c.size() < 8 || c[1] != recipe || c[3].rfind("split/", 0) != 0) continue;
      const double in_channels = std::atof(c[4].c_str()), out_channels = std::atof(c[5].c_str());
      const double time_s = std::atof(c[6].c_str()), energy_j = std::atof(c[7].c_str());
      if (!(time_s > 0)) continue;
      const std::string key = c[3].substr(6);
      times[key].push_back({in_channels, out_channels, time_s});
      if (!(energy_j > 0)) continue;
      powers[key].push_back({in_channels, out_channels, energy_j / time_s});
      watts.push_back(energy_j / time_s);
    }
  }
  if (watts.empty()) throw bad_input("no energies of recipe " + recipe + " are in the recorded points");
  for (const auto& [key, places] : powers) kinds_.emplace(key, Kind{Between(times[key]), Between(places)});
  std::sort(watts.begin(), watts.end());
  most_w_ = watts[watts.size() * 95 / 100];
}

RecordedCost RecordedCosts::of(const Layer& layer, LayerRole role) const {
  LayerKind kind = layer.kind;
  // Alone in its network a layer has no channels to vary; where it stands in a whole one it has.
  if (kind.surface == Surface::kPoint && role != LayerRole::kOnly)
    kind.surface = role == LayerRole::kInput    ? Surface::kOut
                   : role == LayerRole::kOutput ? Surface::kIn
                                                : Surface::kInOut;
  const std::string key = std::string(to_word(role)) + "/" + kind.word();
  const auto found = kinds_.find(key);
  if (found == kinds_.end())
    throw bad_input("nobody recorded layers of the kind " + key +
                    "; this board can only do what was recorded");
  const auto in = static_cast<double>(layer.channels.in), out = static_cast<double>(layer.channels.out);
  return {found->second.time(in, out), found->second.power(in, out) / most_w_};
}

}  // namespace ampere

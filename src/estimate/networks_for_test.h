// A few smaller networks of a family, for tests of folders that come before src/evaluate.
#pragma once

#include <string>
#include <vector>

#include "network/zoo.h"

namespace ampere {

inline std::vector<Network> some_networks(const std::string& model, int count) {
  std::vector<Network> networks;
  for (int i = 0; i < count; ++i) {
    ZooChoice choice = parse_zoo(model);
    int k = 0;
    for (const ZooParameter& p : choice.entry->parameters) {
      if (!p.sampled) continue;
      const std::int64_t steps = (p.value - p.min) / p.step;
      choice.values[p.name] = p.min + p.step * (steps * ((i * 7 + ++k * 5) % 11) / 10);
    }
    networks.push_back(build(choice));
  }
  return networks;
}

}  // namespace ampere

#include "evaluate/sample.h"

#include <random>
#include <set>

namespace ampere {

std::vector<ZooChoice> sample_networks(const ZooChoice& choice, int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<ZooChoice> out;
  std::set<ZooValues> seen;
  for (int tries = 0; static_cast<int>(out.size()) < count && tries < 100 * count; ++tries) {
    ZooChoice one = choice;
    for (const ZooParameter& p : choice.entry->parameters) {
      if (!p.sampled) continue;
      const std::int64_t steps = (choice.values.at(p.name) - p.min) / p.step;
      // The modulus is biased by less than 2^-40 here and, unlike the standard distributions, the same
      // with every library.
      one.values[p.name] =
          p.min + p.step * static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(steps + 1));
    }
    if (seen.insert(one.values).second) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace ampere

#include "evaluate/sample.h"

#include <algorithm>
#include <random>
#include <set>

#include "network/cost.h"

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

std::vector<ZooChoice> networks_by_size(const ZooChoice& choice, int count, std::uint64_t seed) {
  constexpr int kDrawn = 64;
  struct Sized {
    double flops;
    ZooChoice choice;
  };
  std::vector<Sized> drawn;
  for (ZooChoice& one : sample_networks(choice, std::max(count, kDrawn), seed)) {
    const double flops = network_cost(build(one), 1).flops();
    drawn.push_back({flops, std::move(one)});
  }
  std::stable_sort(drawn.begin(), drawn.end(),
                   [](const Sized& a, const Sized& b) { return a.flops < b.flops; });
  const auto wanted = std::min(static_cast<std::size_t>(std::max(count, 0)), drawn.size());
  std::vector<ZooChoice> out;
  for (std::size_t i = 0; i < wanted; ++i) {
    // In the middle of the i-th of so many equal parts, but in the first near its lower end: what networks
    // add besides their layers shows best in small ones.
    const std::size_t twelfths = i == 0 ? 3 : 6;
    out.push_back(drawn[(12 * i + twelfths) * drawn.size() / (12 * wanted)].choice);
  }
  return out;
}

}  // namespace ampere

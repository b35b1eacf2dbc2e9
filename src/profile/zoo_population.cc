#include "profile/zoo_population.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/error.h"
#include "network/cost.h"

namespace ampere {
namespace {

constexpr int kTriesForEach = 50;
constexpr double kNarrower = 0.125, kWider = 1.5;
constexpr std::int64_t kLargestBatch = 256;
constexpr std::size_t kUnits = 7;  // 1 to 64

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::size_t one_of(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  // Evenly on a logarithmic scale, both ends included.
  std::int64_t size(double low, double high) {
    const double share = static_cast<double>(random_() >> 11) * 0x1p-53;
    return static_cast<std::int64_t>(std::llround(low * std::pow(high / low, share)));
  }

  // The same as people choose them: mostly multiples of some power of two, which kernels like. Odd ones
  // would say little about those.
  std::int64_t round_size(double low, double high) {
    const std::int64_t drawn = size(low, high);
    const std::int64_t unit = std::int64_t{1} << one_of(kUnits);
    return drawn <= unit ? drawn : (drawn + unit / 2) / unit * unit;
  }

  std::int64_t value(const ZooParameter& p) {
    const auto usual = static_cast<double>(p.value);
    if (p.sampled) {
      const std::int64_t drawn =
          round_size(std::max(static_cast<double>(p.min), kNarrower * usual), kWider * usual);
      return std::max(p.min, drawn / p.step * p.step);
    }
    if (p.name == "size") return size(usual / 2, usual * 2) / 4 * 4;
    if (p.name == "length") return size(usual / 2, usual * 4);
    if (p.name == "classes") return size(2, 1000);
    return p.value;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

std::vector<DrawnNetwork> draw_networks(int count, std::uint64_t seed, double most_flops) {
  std::map<std::string, std::vector<const ZooEntry*>> families;
  for (const ZooEntry& entry : zoo()) families[entry.family].push_back(&entry);
  Draw draw(seed);
  std::vector<DrawnNetwork> out;
  for (int tries = 0; static_cast<int>(out.size()) < count && tries < kTriesForEach * count; ++tries) {
    const auto family =
        std::next(families.begin(), static_cast<std::ptrdiff_t>(draw.one_of(families.size())));
    const ZooEntry* entry = family->second[draw.one_of(family->second.size())];
    DrawnNetwork one{{entry, {}}, draw.round_size(1, kLargestBatch)};
    for (const ZooParameter& p : entry->parameters) one.choice.values[p.name] = draw.value(p);
    try {
      if (network_cost(build(one.choice), one.batch).flops() <= most_flops) out.push_back(std::move(one));
    } catch (const Error&) {  // sizes that do not go together
    }
  }
  return out;
}

}  // namespace ampere

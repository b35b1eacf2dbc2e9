#include "prune/search.h"

#include <algorithm>
#include <random>
#include <utility>

namespace ampere {
namespace {

constexpr std::size_t kPopulation = 64;
// Of all candidates, drawn at random before evolution starts.
constexpr std::int64_t kRandomShare = 10;

class Search {
 public:
  Search(const std::vector<std::size_t>& sizes, double limit, const Judge& judge,
         const SearchOptions& options)
      : sizes_(sizes), limit_(limit), judge_(judge), options_(options), random_(options.seed) {
    for (std::size_t g = 0; g < sizes.size(); ++g) {
      if (sizes[g] > 1) open_.push_back(g);
    }
  }

  SearchResult run() {
    Choice least(sizes_.size(), 0);
    Choice whole;
    for (std::size_t n : sizes_) whole.push_back(static_cast<std::uint16_t>(n - 1));
    result_.cheapest = {least, judge_(least)};
    try_one(least);
    try_one(whole);
    const bool evolve = options_.kind == SearchKind::kEvolve && !open_.empty();
    const std::int64_t drawn = evolve ? options_.candidates / kRandomShare : options_.candidates;
    Choice choice = whole;
    while (result_.evaluated < drawn) {
      draw(choice);
      try_one(choice);
    }
    while (evolve && result_.evaluated < options_.candidates) {
      breed(choice);
      try_one(choice);
    }
    auto& best = result_.best;
    best.resize(std::min(best.size(), options_.finalists));
    return std::move(result_);
  }

 private:
  // The modulus is biased by less than 2^-40 here and, unlike the standard distributions, the same with every
  // library.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  // All groups from a common floor up: drawn independently from all numbers, deep networks would all keep
  // about half of everything.
  void draw(Choice& choice) {
    const std::size_t floor = below(1024);
    for (std::size_t g : open_) {
      const std::size_t from = sizes_[g] * floor / 1024;
      choice[g] = static_cast<std::uint16_t>(from + below(sizes_[g] - from));
    }
  }

  const Choice& parent() {
    const auto& best = result_.best;
    return best[std::min(below(best.size()), below(best.size()))].choice;  // the better of two
  }

  void breed(Choice& choice) {
    if (result_.best.empty()) return draw(choice);
    choice = parent();
    if (below(2) == 0) {
      const Choice& other = parent();
      for (std::size_t g : open_) {
        if (below(2) == 0) choice[g] = other[g];
      }
    }
    do {
      const std::size_t g = open_[below(open_.size())];
      const auto last = static_cast<std::int64_t>(sizes_[g]) - 1;
      const auto step = static_cast<std::int64_t>(1 + below(3)) * (below(2) == 0 ? 1 : -1);
      const std::int64_t to = below(8) == 0 ? static_cast<std::int64_t>(below(sizes_[g])) : choice[g] + step;
      choice[g] = static_cast<std::uint16_t>(std::clamp<std::int64_t>(to, 0, last));
    } while (below(3) != 0);
  }

  void try_one(const Choice& choice) {
    const Worth worth = judge_(choice);
    ++result_.evaluated;
    if (worth.cost < result_.cheapest.worth.cost) result_.cheapest = {choice, worth};
    if (!(worth.cost <= limit_)) return;
    ++result_.within;
    auto& best = result_.best;
    const auto better = [](const Worth& a, const Worth& b) {
      return std::pair(-a.value, a.cost) < std::pair(-b.value, b.cost);
    };
    if (best.size() == kPopulation && !better(worth, best.back().worth)) return;
    const auto place =
        std::lower_bound(best.begin(), best.end(), worth,
                         [&](const Candidate& c, const Worth& w) { return better(c.worth, w); });
    for (auto it = place; it != best.end() && !better(worth, it->worth); ++it) {
      if (it->choice == choice) return;
    }
    best.insert(place, {choice, worth});
    if (best.size() > kPopulation) best.pop_back();
  }

  const std::vector<std::size_t>& sizes_;
  double limit_;
  const Judge& judge_;
  const SearchOptions& options_;
  std::mt19937_64 random_;
  std::vector<std::size_t> open_;  // groups with a choice
  SearchResult result_;
};

}  // namespace

SearchResult search(const std::vector<std::size_t>& sizes, double limit, const Judge& judge,
                    const SearchOptions& options) {
  return Search(sizes, limit, judge, options).run();
}

}  // namespace ampere

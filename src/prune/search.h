// Searching channel numbers: many candidates, those within a limit, the best of them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ampere/prune.h"
#include "prune/cost_tables.h"

namespace ampere {

// What a candidate costs and what it is worth. Costs above the limit are refused.
struct Worth {
  double cost;
  double value;
};
using Judge = std::function<Worth(const Choice&)>;

struct Candidate {
  Choice choice;
  Worth worth;
};

struct SearchResult {
  std::vector<Candidate> best;  // within the limit, highest value first; no two alike
  Candidate cheapest;           // of all, within or not
  std::int64_t evaluated = 0;
  std::int64_t within = 0;  // how many of them kept to the limit
};

// `sizes`: how many numbers each group may choose from, the largest last.
SearchResult search(const std::vector<std::size_t>& sizes, double limit, const Judge& judge,
                    const SearchOptions& options);

}  // namespace ampere

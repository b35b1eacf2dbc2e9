#include "prune/scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace ampere {

ChannelScores scores_from_json(const Json& json, const std::string& where) {
  JsonReader r(json, where);
  r.only({"schema_version", "layers"});
  ChannelScores scores;
  for (const auto& [name, value] : r.object("layers").items()) {
    std::vector<double>& own = scores[name];
    for (const Json& v : value.is_array() ? value : Json::array({value})) {
      if (!v.is_number() || !std::isfinite(v.get<double>()) || v.get<double>() < 0)
        throw bad_input(where + ": the score of \"" + name +
                        "\" must be a number that is not negative, or a "
                        "list of them");
      own.push_back(v.get<double>());
    }
    if (own.empty()) throw bad_input(where + ": the scores of \"" + name + "\" are empty");
  }
  return scores;
}

GroupScore::GroupScore(const ChannelGroup& group, const ChannelScores& scores) {
  const auto n = static_cast<std::size_t>(group.channels);
  std::vector<double> each;
  for (const std::string& node : group.nodes) {
    const auto found = scores.find(node);
    if (found == scores.end()) continue;
    if (found->second.size() == 1) {
      per_channel_ += found->second[0] / static_cast<double>(n);
      continue;
    }
    if (found->second.size() != n) {
      throw bad_input("layer \"" + node + "\" has " + std::to_string(n) + " channels, but " +
                      std::to_string(found->second.size()) + " scores");
    }
    each.resize(n, 0);
    for (std::size_t i = 0; i < n; ++i) each[i] += found->second[i];
  }
  if (each.empty()) return;
  ranked_.resize(n);
  std::iota(ranked_.begin(), ranked_.end(), 0);
  std::stable_sort(ranked_.begin(), ranked_.end(), [&](std::int64_t a, std::int64_t b) {
    return each[static_cast<std::size_t>(a)] > each[static_cast<std::size_t>(b)];
  });
  sum_ = {0};
  for (std::int64_t c : ranked_) sum_.push_back(sum_.back() + each[static_cast<std::size_t>(c)]);
}

double GroupScore::of(std::int64_t channels) const {
  const double own = sum_.empty() ? 0 : sum_[static_cast<std::size_t>(channels)];
  return own + per_channel_ * static_cast<double>(channels);
}

std::vector<std::int64_t> GroupScore::best(std::int64_t channels) const {
  if (ranked_.empty()) return {};
  std::vector<std::int64_t> kept(ranked_.begin(), ranked_.begin() + channels);
  std::sort(kept.begin(), kept.end());
  return kept;
}

std::vector<GroupScore> score_groups(const PrunableNetwork& network, const ChannelScores& scores) {
  for (const auto& [name, values] : scores) {
    if (network.find(name) < 0)
      throw bad_input("scores: no layer with channels of its own is called \"" + name + "\"");
  }
  std::vector<GroupScore> out;
  double all = 0;
  for (const ChannelGroup& group : network.groups()) {
    out.emplace_back(group, scores);
    if (group.fixed.empty()) all += out.back().of(group.channels);
  }
  if (!(all > 0)) throw bad_input("scores: no layer that can be pruned has a score above 0");
  return out;
}

}  // namespace ampere

// How much channels matter, as somebody's training has shown: scores from a file.
#pragma once

#include <string>
#include <vector>

#include "ampere/prune.h"
#include "base/json.h"
#include "prune/channel_groups.h"

namespace ampere {

// {"layers": {"conv1": 2.5, "conv2": [0.1, 0.7, ...]}}; `where` names the source in errors. Throws
// Error{kBadInput}.
ChannelScores scores_from_json(const Json& json, const std::string& where);

// What scores make of one group of channels.
class GroupScore {
 public:
  // Scores of nodes that share the group are added. Throws Error{kBadInput} where their number is wrong.
  GroupScore(const ChannelGroup& group, const ChannelScores& scores);

  // Of the best `channels` channels together.
  double of(std::int64_t channels) const;
  // Which channels these are, in order; empty where channels have no scores of their own.
  std::vector<std::int64_t> best(std::int64_t channels) const;

 private:
  double per_channel_ = 0;            // of scores for all channels together
  std::vector<std::int64_t> ranked_;  // channels with scores of their own, best first
  std::vector<double> sum_;           // of the first so many of them
};

// Throws Error{kBadInput} when a name is none of the network's groups, or when no group that can be pruned
// has a score.
std::vector<GroupScore> score_groups(const PrunableNetwork& network, const ChannelScores& scores);

}  // namespace ampere

// Random networks of a family, as the paper samples them.
#pragma once

#include <cstdint>
#include <vector>

#include "network/zoo.h"

namespace ampere {

// Each sampled parameter is drawn uniformly from its smallest to its value in `choice` (multiples of its
// step); the rest stay. Channels are stage widths in ResNets, so skip connections stay valid. The same
// seed gives the same networks on every machine. Networks are distinct where the family has enough.
std::vector<ZooChoice> sample_networks(const ZooChoice& choice, int count, std::uint64_t seed);

// Some of many random networks, from among the smallest (in FLOPs) to nearly the largest, at even ranks.
// Fewer where the family has fewer.
std::vector<ZooChoice> networks_by_size(const ZooChoice& choice, int count, std::uint64_t seed);

}  // namespace ampere

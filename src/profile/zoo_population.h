// Networks that a device is to be known for: those of the zoo, at random widths, batches and input sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "network/zoo.h"

namespace ampere {

struct DrawnNetwork {
  ZooChoice choice;
  std::int64_t batch = 1;
};

// Families as often as each other, sizes and batches evenly on a logarithmic scale. The same for the same
// seed, with every library. `most_flops`: of an iteration; larger ones are drawn again.
std::vector<DrawnNetwork> draw_networks(int count, std::uint64_t seed, double most_flops);

}  // namespace ampere

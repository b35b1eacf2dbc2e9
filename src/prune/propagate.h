// Channel identities, followed through a network: every dimension of every tensor as a list of terms, each a
// multiple of one open number or a constant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/network.h"

namespace ampere {

// `number` -1: a constant.
struct Term {
  int number;
  std::int64_t factor;
};
using Terms = std::vector<Term>;  // concatenated, in this order

// One open channel number. Numbers that must be equal name the same root.
struct OpenNumber {
  std::string node;  // that puts it out
  std::int64_t size = 0;
  std::int64_t unit = 1;   // it is a multiple of this
  std::int64_t least = 1;  // and not less than this
  std::string fixed;       // why it may not change; empty: it may
  int root = 0;
};

struct Propagated {
  std::vector<OpenNumber> numbers;  // facts of a set are kept at its root
  std::vector<Terms> width;         // per node: of its width attribute; empty where it has none
  std::vector<Terms> groups;        // per node: depthwise convolutions that say their groups; else empty
  int root_of(int number) const;
};

// What the network reads and puts out is fixed.
Propagated propagate_channels(const Network& network, std::int64_t batch);

}  // namespace ampere

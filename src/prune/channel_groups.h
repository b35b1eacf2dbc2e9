// Which channels of a network can be pruned, and which of them only together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layers/parse.h"
#include "network/network.h"

namespace ampere {

// Channels that shrink together: what is added or multiplied must be equally wide, a depthwise convolution
// puts out as many channels as it reads, and so on.
struct ChannelGroup {
  std::string name;                // the first node that puts them out
  std::vector<std::string> nodes;  // all whose width they are
  std::int64_t channels = 0;       // in the network as it is
  std::int64_t unit = 1;           // numbers are multiples of this: groups of convolutions, heads
  std::int64_t least = 1;          // fewer would make other kinds of layers
  std::string fixed;               // why they cannot be pruned; empty where they can
};

// A width made of groups: constant + sum of factor * channels of the group. Concatenation adds groups,
// flattening multiplies them by the positions.
struct ChannelSum {
  struct Part {
    int group;
    std::int64_t factor;
    auto operator<=>(const Part&) const = default;
  };
  std::int64_t constant = 0;
  std::vector<Part> parts;

  auto operator<=>(const ChannelSum&) const = default;
  std::int64_t at(const std::vector<std::int64_t>& channels) const;
};

// A network whose channel numbers are open.
class PrunableNetwork {
 public:
  // Throws Error{kBadInput} for networks whose shapes do not fit.
  PrunableNetwork(const Network& network, std::int64_t batch);

  const Network& network() const { return network_; }
  std::int64_t batch() const { return batch_; }
  const std::vector<ChannelGroup>& groups() const { return groups_; }
  // The layers as they are, and how wide each is by its groups.
  const std::vector<Layer>& layers() const { return layers_; }
  struct Widths {
    ChannelSum in, out;
  };
  const std::vector<Widths>& widths() const { return widths_; }

  // The group whose nodes have this name; -1 when there is none.
  int find(const std::string& node) const;
  // Channels of every group as they are.
  std::vector<std::int64_t> original() const;
  // The network with other channel numbers, one for each group, each a multiple of the group's unit.
  Network with(const std::vector<std::int64_t>& channels) const;

 private:
  void learn_widths();
  bool probe(std::size_t group, std::int64_t channels, std::vector<Layer>& layers) const;

  Network network_;
  std::int64_t batch_;
  std::vector<ChannelGroup> groups_;
  std::vector<ChannelSum> node_width_;   // of nodes with a width attribute
  std::vector<ChannelSum> node_groups_;  // of depthwise convolutions that say their groups
  std::vector<Layer> layers_;
  std::vector<std::string> keys_;  // of the layers
  std::vector<Widths> widths_;
};

}  // namespace ampere

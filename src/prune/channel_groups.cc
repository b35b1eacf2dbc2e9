#include "prune/channel_groups.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "prune/propagate.h"

namespace ampere {
namespace {

ChannelSum sum_of(const Terms& terms, const Propagated& found, const std::map<int, int>& group_of) {
  std::map<int, std::int64_t> factors;
  ChannelSum sum;
  for (const Term& t : terms) {
    if (t.number < 0) {
      sum.constant += t.factor;
    } else {
      factors[group_of.at(found.root_of(t.number))] += t.factor;
    }
  }
  for (const auto& [group, factor] : factors) sum.parts.push_back({group, factor});
  return sum;
}

}  // namespace

std::int64_t ChannelSum::at(const std::vector<std::int64_t>& channels) const {
  std::int64_t total = constant;
  for (const Part& p : parts) total += p.factor * channels[static_cast<std::size_t>(p.group)];
  return total;
}

PrunableNetwork::PrunableNetwork(const Network& network, std::int64_t batch)
    : network_(network), batch_(batch), layers_(parse_layers(network, batch)) {
  const Propagated found = propagate_channels(network, batch);
  std::map<int, int> group_of;  // root to group
  for (std::size_t n = 0; n < found.numbers.size(); ++n) {
    const int root = found.root_of(static_cast<int>(n));
    const OpenNumber& facts = found.numbers[static_cast<std::size_t>(root)];
    const auto [it, fresh] = group_of.emplace(root, static_cast<int>(groups_.size()));
    if (fresh) groups_.push_back({facts.node, {}, facts.size, facts.unit, facts.least, facts.fixed});
    groups_[static_cast<std::size_t>(it->second)].nodes.push_back(found.numbers[n].node);
  }
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    node_width_.push_back(sum_of(found.width[i], found, group_of));
    node_groups_.push_back(sum_of(found.groups[i], found, group_of));
    // A depthwise convolution has no number of its own, but its name is as good as any.
    const ChannelSum& width = node_width_.back();
    if (width.parts.size() != 1 || width.constant != 0) continue;
    auto& names = groups_[static_cast<std::size_t>(width.parts[0].group)].nodes;
    const std::string& name = network.nodes()[i].name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  learn_widths();
}

int PrunableNetwork::find(const std::string& node) const {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto& names = groups_[g].nodes;
    if (std::find(names.begin(), names.end(), node) != names.end()) return static_cast<int>(g);
  }
  return -1;
}

std::vector<std::int64_t> PrunableNetwork::original() const {
  std::vector<std::int64_t> channels;
  for (const ChannelGroup& g : groups_) channels.push_back(g.channels);
  return channels;
}

Network PrunableNetwork::with(const std::vector<std::int64_t>& channels) const {
  const std::string& name = network_.name();
  const bool same = channels == original();
  Network out(same ? name : name.substr(0, name.find(':')) + ":pruned");
  for (std::size_t i = 0; i < network_.nodes().size(); ++i) {
    const Node& node = network_.nodes()[i];
    Attrs attrs = node.attrs;
    const char* width = width_attribute(node.op);
    if (width) attrs[width] = node_width_[i].at(channels);
    if (!node_groups_[i].parts.empty()) attrs["groups"] = node_groups_[i].at(channels);
    out.add(node.op, node.inputs, std::move(attrs), node.name);
  }
  out.set_outputs(network_.outputs());
  return out;
}

// The layers with one group changed; false when they are not of the same kinds any more.
bool PrunableNetwork::probe(std::size_t group, std::int64_t channels, std::vector<Layer>& layers) const {
  std::vector<std::int64_t> all = original();
  all[group] = channels;
  try {
    layers = parse_layers(with(all), batch_);
  } catch (const Error&) {
    return false;
  }
  return std::equal(layers.begin(), layers.end(), keys_.begin(), keys_.end(),
                    [](const Layer& layer, const std::string& key) { return layer.key() == key; });
}

// How wide a layer is follows from its ops in ways that parse_layers knows; widths are sums of groups, so one
// change of each group shows its factor. A group that changes kinds is left alone: its surfaces would be
// others.
void PrunableNetwork::learn_widths() {
  for (const Layer& layer : layers_) keys_.push_back(layer.key());
  for (const Layer& layer : layers_) widths_.push_back({{layer.channels.in, {}}, {layer.channels.out, {}}});
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    ChannelGroup& group = groups_[g];
    const std::int64_t fewer = (group.channels - 1) / group.unit * group.unit;
    if (group.fixed.empty() && fewer < 1) group.fixed = "there are too few";
    if (!group.fixed.empty()) continue;
    std::vector<Layer> probed, smallest;
    if (!probe(g, fewer, probed)) {
      group.fixed = "other numbers make layers of another kind";
      continue;
    }
    int tries = 8;
    group.least = std::max((group.least + group.unit - 1) / group.unit * group.unit, group.unit);
    while (group.least < fewer && --tries > 0 && !probe(g, group.least, smallest)) group.least += group.unit;
    if (tries == 0 || group.least >= group.channels) {
      group.fixed = tries == 0 ? "fewer make layers of another kind" : "there are too few";
      continue;
    }
    const std::int64_t step = group.channels - fewer;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto learn = [&](ChannelSum& sum, std::int64_t now, std::int64_t then) {
        if (now == then) return;
        const std::int64_t factor = (now - then) / step;
        sum.parts.push_back({static_cast<int>(g), factor});
        sum.constant -= factor * group.channels;
      };
      learn(widths_[i].in, layers_[i].channels.in, probed[i].channels.in);
      learn(widths_[i].out, layers_[i].channels.out, probed[i].channels.out);
    }
  }
}

}  // namespace ampere

#include "prune/channel_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "network/shape.h"
#include "network/zoo.h"
#include "prune/networks_for_test.h"

namespace ampere {
namespace {

using testing::UnorderedElementsAre;

const ChannelGroup& group_of(const PrunableNetwork& p, const std::string& node) {
  const int g = p.find(node);
  EXPECT_GE(g, 0) << node;
  return p.groups()[static_cast<std::size_t>(std::max(0, g))];
}

TEST(ChannelGroups, AdditionsAndDepthwiseConvolutionsTieChannels) {
  const PrunableNetwork p(mobile_network(), 4);
  EXPECT_THAT(group_of(p, "stem").nodes, UnorderedElementsAre("stem", "project"));
  // The gate multiplies what the depthwise convolution puts out, so its convolution is as wide.
  EXPECT_THAT(group_of(p, "expand").nodes, UnorderedElementsAre("expand", "depthwise", "excite"));
  EXPECT_EQ(group_of(p, "expand").least, 2) << "one channel would be no depthwise convolution";
  EXPECT_THAT(group_of(p, "squeeze").nodes, UnorderedElementsAre("squeeze"));
  EXPECT_THAT(group_of(p, "head").fixed, testing::HasSubstr("puts them out"));
  for (const char* free : {"stem", "expand", "squeeze"}) EXPECT_EQ(group_of(p, free).fixed, "") << free;
}

TEST(ChannelGroups, GroupsAndConcatenationsBound) {
  const PrunableNetwork p(branched_network(), 4);
  EXPECT_EQ(group_of(p, "a").unit, 4);
  EXPECT_EQ(group_of(p, "b").unit, 4);
  EXPECT_EQ(group_of(p, "b").least, 8);
  EXPECT_EQ(group_of(p, "c").unit, 1);
  EXPECT_EQ(group_of(p, "d").unit, 3);
  std::vector<std::int64_t> channels = p.original();
  channels[static_cast<std::size_t>(p.find("b"))] = 12;
  channels[static_cast<std::size_t>(p.find("c"))] = 7;
  const Network smaller = p.with(channels);
  EXPECT_EQ(infer_shapes(smaller, 4)[4].dims[1], 19);
}

TEST(ChannelGroups, RecurrencesAndHeads) {
  const PrunableNetwork p(sequence_network(), 4);
  EXPECT_EQ(group_of(p, "lstm").unit, 2) << "twice as many, in four heads";
  EXPECT_EQ(group_of(p, "words").unit, 1);
}

TEST(ChannelGroups, WhatOpsFixStays) {
  const Network network = network_of(R"(
    {"name": "in", "op": "input", "shape": [3, 8, 8]},
    {"name": "a", "op": "conv2d", "out_channels": 16, "kernel": 1},
    {"name": "shaped", "op": "reshape", "shape": [0, 16, 64]},
    {"name": "b", "op": "conv1d", "out_channels": 8, "kernel": 1},
    {"name": "part", "op": "slice", "axis": 1, "start": 2},
    {"name": "c", "op": "conv1d", "out_channels": 8, "kernel": 1},
    {"name": "flat", "op": "flatten"},
    {"name": "d", "op": "linear", "out_features": 4})");
  const PrunableNetwork p(network, 2);
  EXPECT_THAT(group_of(p, "a").fixed, testing::HasSubstr("shaped"));
  EXPECT_THAT(group_of(p, "b").fixed, testing::HasSubstr("part"));
  EXPECT_EQ(group_of(p, "c").fixed, "");
}

TEST(ChannelGroups, UnlikePartsThatAreAddedStay) {
  const Network network = network_of(R"(
    {"name": "in", "op": "input", "shape": [3, 8, 8]},
    {"name": "a", "op": "conv2d", "out_channels": 6, "kernel": 1, "inputs": ["in"]},
    {"name": "b", "op": "conv2d", "out_channels": 10, "kernel": 1, "inputs": ["in"]},
    {"name": "ab", "op": "concat", "inputs": ["a", "b"]},
    {"name": "ba", "op": "concat", "inputs": ["b", "a"]},
    {"name": "twice", "op": "concat", "inputs": ["a", "b"]},
    {"name": "alike", "op": "add", "inputs": ["ab", "twice"]},
    {"name": "unlike", "op": "add", "inputs": ["alike", "ba"]},
    {"name": "out", "op": "conv2d", "out_channels": 2, "kernel": 1})");
  const PrunableNetwork p(network, 2);
  EXPECT_THAT(group_of(p, "a").fixed, testing::HasSubstr("unlike"));
}

// Whatever is chosen, the network stays valid, of the same kinds of layers, and as wide as predicted.
void holds_for_random_numbers(const Network& network) {
  const PrunableNetwork p(network, 2);
  std::mt19937 random(7);
  int open = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<std::int64_t> channels = p.original();
    for (std::size_t g = 0; g < channels.size(); ++g) {
      const ChannelGroup& group = p.groups()[g];
      if (!group.fixed.empty()) continue;
      ++open;
      const auto steps = static_cast<unsigned>((group.channels - group.least) / group.unit + 1);
      // The first round takes the smallest numbers.
      channels[g] = group.least + group.unit * static_cast<std::int64_t>(round == 0 ? 0 : random() % steps);
    }
    const std::vector<Layer> layers = parse_layers(p.with(channels), 2);
    ASSERT_EQ(layers.size(), p.layers().size()) << network.name();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      EXPECT_EQ(layers[i].key(), p.layers()[i].key()) << network.name();
      EXPECT_EQ(layers[i].channels.in, p.widths()[i].in.at(channels)) << layers[i].name;
      EXPECT_EQ(layers[i].channels.out, p.widths()[i].out.at(channels)) << layers[i].name;
    }
  }
  EXPECT_GT(open, 0) << network.name();
}

TEST(ChannelGroups, AnyNumbersMakeAValidNetwork) {
  for (const Network& network : {mobile_network(), branched_network(), sequence_network()})
    holds_for_random_numbers(network);
  for (const char* model : {"lenet5", "cnn5", "har", "lstm", "transformer", "resnet18-cifar", "resnet50"})
    holds_for_random_numbers(build(parse_zoo(model)));
}

TEST(ChannelGroups, ResNetHasOneGroupForEachStage) {
  const PrunableNetwork p(build(parse_zoo("resnet50")), 2);
  int open = 0;
  for (const ChannelGroup& g : p.groups()) open += g.fixed.empty();
  EXPECT_EQ(open, 1 + 2 * 16 + 4);  // the stem, two convolutions within each block, what a stage adds up
}

}  // namespace
}  // namespace ampere

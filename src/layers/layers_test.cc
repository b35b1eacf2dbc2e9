#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "layers/parse.h"
#include "network/network_json.h"
#include "network/zoo.h"

namespace ampere {
namespace {

std::vector<std::string> keys(const std::string& model, std::int64_t batch) {
  std::vector<std::string> out;
  for (const Layer& layer : parse_layers(build(parse_zoo(model)), batch)) {
    out.push_back(layer.key() + " " + std::to_string(layer.channels.in) + ">" +
                  std::to_string(layer.channels.out));
  }
  return out;
}

TEST(Layers, LeNet5) {
  EXPECT_THAT(
      keys("lenet5", 10),
      testing::ElementsAre("input/conv5x5p2-relu-maxpool2x2@1x28x28b10 1>6",
                           "hidden/conv5x5-relu-maxpool2x2@14x14b10 6>16", "hidden/linear-relu@b10 400>120",
                           "hidden/linear-relu@b10 120>84", "output/linear10@b10 84>10"));
}

TEST(Layers, SequencesAndEncoders) {
  EXPECT_THAT(keys("lstm", 4),
              testing::ElementsAre("input/embeddingv5000@32b4 5000>128",
                                   "hidden/lstm-slicefrom-1@L32b4 128>128", "output/linear2@b4 128>2"));
  EXPECT_THAT(keys("transformer:layers=1", 4),
              testing::ElementsAre("input/embeddingv5000@64b4 5000>128",
                                   "hidden/encoderh4x4-meana1@L64b4 128>128", "output/linear2@b4 128>2"));
}

TEST(Layers, ResidualAdditionsAreLayersOfTheirOwn) {
  const auto groups = group_layers(parse_layers(build(parse_zoo("resnet18")), 32));
  int joins = 0, layers = 0;
  for (const LayerGroup& g : groups) {
    layers += g.count;
    if (g.layer.kind.ops[0].op == Op::kAdd) {
      joins += g.count;
      EXPECT_EQ(g.layer.kind.surface, Surface::kTied);
    }
  }
  EXPECT_EQ(joins, 8);
  EXPECT_EQ(layers, 20 + 8 + 1);  // 20 convolutions, 8 additions, one linear
  EXPECT_LT(groups.size(), 22u);
}

// Images with their channels last, put together along positions or along channels.
TEST(Layers, ConcatenationAlongAnyAxisCanBeBuiltAlone) {
  for (const std::int64_t axis : {1, 2, 3, -1}) {
    Network net;
    net.add(Op::kInput, {}, {{"shape", std::vector<std::int64_t>{6, 6, 8}}});
    net.add(Op::kLinear, {0}, {{"out_features", std::int64_t{12}}});
    net.add(Op::kLayerNorm, {1}, {});
    net.add(Op::kConcat, {2, 2, 1}, {{"axis", axis}});
    for (const Layer& layer : parse_layers(net, 2)) {
      const Cost alone = network_cost(build_layer(layer.kind, layer.channels), 2);
      EXPECT_EQ(alone.parameters, layer.cost.parameters) << layer.key();
      EXPECT_EQ(alone.forward_flops, layer.cost.forward_flops) << layer.key();
      EXPECT_EQ(alone.activation_bytes, layer.cost.activation_bytes) << layer.key();
    }
  }
}

TEST(Layers, CostsAddUpToTheNetwork) {
  for (const ZooEntry& entry : zoo()) {
    const Network net = build(parse_zoo(entry.name));
    double flops = 0, parameters = 0;
    for (const Layer& layer : parse_layers(net, 2)) {
      flops += layer.cost.flops();
      parameters += layer.cost.parameters;
    }
    EXPECT_NEAR(flops / network_cost(net, 2).flops(), 1, 1e-9) << entry.name;
    EXPECT_EQ(parameters, network_cost(net, 2).parameters) << entry.name;
  }
}

// A layer built again from its kind and channels costs what it cost in its network.
TEST(Layers, KindAndChannelsRebuildTheLayer) {
  for (const ZooEntry& entry : zoo()) {
    for (const Layer& layer : parse_layers(build(parse_zoo(entry.name)), 2)) {
      const Network alone = build_layer(layer.kind, layer.channels);
      const Cost cost = network_cost(alone, 2);
      EXPECT_EQ(cost.parameters, layer.cost.parameters) << entry.name << " " << layer.key();
      EXPECT_EQ(cost.forward_flops, layer.cost.forward_flops) << entry.name << " " << layer.key();
    }
  }
}

TEST(Layers, DomainsReachFromOneUnitToTheLayersOwn) {
  const auto groups = group_layers(parse_layers(build(parse_zoo("lenet5")), 10));
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[2].count, 2);  // two linear layers share a kind
  EXPECT_EQ(groups[2].domain.in.min, 1);
  EXPECT_EQ(groups[2].domain.in.max, 400);
  EXPECT_EQ(groups[2].domain.out.max, 120);
  EXPECT_EQ(groups[0].domain.in.min, groups[0].domain.in.max);
}

TEST(Layers, GroupedAndDepthwiseConvolutions) {
  const char* text = R"({"nodes": [
    {"op": "input", "shape": [3, 8, 8]},
    {"op": "conv2d", "out_channels": 16, "kernel": 1},
    {"op": "conv2d", "out_channels": 16, "kernel": 3, "groups": 16, "padding": 1},
    {"op": "conv2d", "out_channels": 32, "kernel": 3, "groups": 4},
    {"op": "adaptive_avg_pool", "output": 1}, {"op": "flatten"}, {"op": "linear", "out_features": 2}]})";
  const auto layers = parse_layers(network_from_json(parse_json(text, "t"), "t"), 2);
  EXPECT_EQ(layers[1].kind.surface, Surface::kTied);
  EXPECT_THAT(layers[1].key(), testing::HasSubstr("conv3x3p1dw"));
  EXPECT_EQ(domain_of(layers[1]).in.min, 1);
  EXPECT_EQ(domain_of(layers[2]).in.step, 4);
  EXPECT_EQ(domain_of(layers[2]).out.min, 4);
}

TEST(Layers, CapturedCallsAreKindsByWhatTheyCall) {
  const char* text = R"({"nodes": [{"op": "input", "shape": [1]},
    {"op": "calls", "name": "a", "calls": "{1}", "label": "Conv2d", "batch": 4, "bytes": 1},
    {"op": "calls", "name": "b", "calls": "{1}", "label": "Conv2d", "batch": 4, "bytes": 1},
    {"op": "calls", "name": "c", "calls": "{2}", "label": "Conv2d", "batch": 4, "bytes": 1},
    {"op": "calls", "name": "loop", "calls": "{2}", "label": "Conv2d", "batch": 4, "bytes": 1, "host": [7]}]})";
  const auto layers = parse_layers(network_from_json(parse_json(text, "t"), "t"), 4);
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_EQ(layers[0].key(), layers[1].key());
  EXPECT_NE(layers[1].key(), layers[2].key());
  EXPECT_NE(layers[2].key(), layers[3].key());
  EXPECT_EQ(layers.back().role, LayerRole::kHidden);  // its calls hold the loss, if any
  EXPECT_THAT(layers[0].kind.word(), testing::StartsWith("Conv2d#"));
  const Network alone = build_layer(layers[0].kind, layers[0].channels);
  EXPECT_EQ(alone.nodes().back().word("calls"), "{1}");
}

}  // namespace
}  // namespace ampere

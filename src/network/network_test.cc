#include "network/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "network/cost.h"
#include "network/network_json.h"
#include "network/shape.h"
#include "network/zoo.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;

// The message of the Error that reading and shaping this network gives; empty when there is none.
std::string error_of(const std::string& text, std::int64_t batch = 2) {
  try {
    infer_shapes(network_from_json(parse_json(text, "net.json"), "net.json"), batch);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
    return e.what();
  }
  return "";
}

struct BadCase {
  const char* text;
  const char* message;
};

class BadNetwork : public testing::TestWithParam<BadCase> {};

TEST_P(BadNetwork, SaysWhichNodeAndWhatWasExpected) {
  EXPECT_THAT(error_of(GetParam().text), testing::HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadNetwork,
    testing::Values(
        BadCase{R"({"nodes": [)", "not valid JSON"}, BadCase{R"([])", "expected a JSON object"},
        BadCase{R"({"nodes": []})", "\"nodes\" is empty"},
        BadCase{R"({"schema_version": 2, "nodes": []})", "schema_version 2 is not known"},
        BadCase{R"({"nodes": [{"op": "input", "shape": [3, 8, 8]}, {"op": "conv9d"}]})",
                "unknown op \"conv9d\""},
        BadCase{
            R"({"nodes": [{"op": "input", "shape": [3, 8, 8]}, {"name": "c", "op": "conv2d", "out_channels": 0, "kernel": 3}]})",
            "node \"c\" (conv2d): \"out_channels\" must be between 1 and"},
        BadCase{
            R"({"nodes": [{"op": "input", "shape": [3, 8, 8]}, {"name": "c", "op": "conv2d", "out_channels": 99999999999, "kernel": 3}]})",
            "must be between"},
        BadCase{
            R"({"nodes": [{"op": "input", "shape": [3, 8, 8]}, {"name": "c", "op": "conv2d", "kernel": 3}]})",
            "attribute \"out_channels\" is missing"},
        BadCase{R"({"nodes": [{"op": "input", "shape": [3, 8, 8]}, {"name": "c", "op": "relu", "size": 3}]})",
                "unknown attribute \"size\""},
        BadCase{
            R"({"nodes": [{"op": "input", "shape": [400]}, {"name": "c", "op": "conv2d", "out_channels": 4, "kernel": 3}]})",
            "node \"c\" (conv2d): expected an input of 4 dimensions (batch, channels, height, width), found "
            "2x400"},
        BadCase{
            R"({"nodes": [{"op": "input", "shape": [3, 2, 2]}, {"name": "c", "op": "conv2d", "out_channels": 4, "kernel": 3}]})",
            "at least as large as the window of 3"},
        BadCase{
            R"({"nodes": [{"name": "x", "op": "input", "shape": [3]}, {"name": "a", "op": "add", "inputs": ["x", "y"]}]})",
            "node \"a\": reads \"y\", but no earlier node has that name"},
        BadCase{R"({"nodes": [{"name": "x", "op": "input", "shape": [3]}, {"name": "x", "op": "relu"}]})",
                "another node has the same name"},
        BadCase{R"({"nodes": [{"name": "x", "op": "input", "shape": [16777216, 16777216]}]})",
                "more than 2^40 elements"},
        BadCase{
            R"({"nodes": [{"name": "x", "op": "input", "shape": [6]}, {"op": "linear", "out_features": "ten"}]})",
            "\"out_features\" must be a whole number"},
        BadCase{R"({"nodes": [{"name": "x", "op": "input", "shape": [5], "dtype": "int"}]})",
                "needs \"classes\""},
        BadCase{R"({"nodes": [{"op": "input", "shape": [3]}], "extra": 1})", "unknown field \"extra\""}));

TEST(Network, BatchMustBePositive) {
  const char* text = R"({"nodes": [{"op": "input", "shape": [3]}, {"op": "linear", "out_features": 4}]})";
  EXPECT_THAT(error_of(text, 0), testing::HasSubstr("batch size must be between 1"));
  EXPECT_EQ(error_of(text, 1), "");
}

TEST(Shape, ChainedShapes) {
  const Network net = build(parse_zoo("lenet5"));
  const auto shapes = infer_shapes(net, 10);
  EXPECT_EQ(to_text(shapes.back()), "10x10");
  EXPECT_EQ(to_text(shapes[3]), "10x6x14x14");
}

TEST(Shape, EveryOp) {
  struct Row {
    Op op;
    Ints input;
    Attrs attrs;
    const char* output;
  };
  const auto i = [](std::int64_t v) { return AttrValue(v); };
  const std::vector<Row> rows = {
      {Op::kConv1d,
       {4, 16},
       {{"out_channels", i(6)}, {"kernel", i(3)}, {"stride", i(2)}, {"dilation", i(2)}},
       "2x6x6"},
      {Op::kConv2d, {4, 9, 9}, {{"out_channels", i(8)}, {"kernel", Ints{1, 3}}, {"groups", i(4)}}, "2x8x9x7"},
      {Op::kConv2d, {4, 9, 9}, {{"out_channels", i(4)}, {"kernel", i(3)}, {"groups", i(0)}}, "2x4x7x7"},
      {Op::kLstm, {5, 3}, {{"hidden_size", i(7)}, {"bidirectional", true}}, "2x5x14"},
      {Op::kGru, {5, 3}, {{"hidden_size", i(7)}}, "2x5x7"},
      {Op::kAttention, {5, 8}, {{"heads", i(2)}}, "2x5x8"},
      {Op::kEncoderLayer, {5, 8}, {{"heads", i(2)}, {"feedforward", i(16)}}, "2x5x8"},
      {Op::kMaxPool, {4, 9, 9}, {{"kernel", i(2)}, {"ceil_mode", true}}, "2x4x5x5"},
      {Op::kAvgPool, {4, 9}, {{"kernel", i(3)}, {"stride", i(1)}, {"padding", i(1)}}, "2x4x9"},
      {Op::kAdaptiveAvgPool, {4, 9, 9}, {{"output", i(1)}}, "2x4x1x1"},
      {Op::kFlatten, {4, 3, 2}, {}, "2x24"},
      {Op::kReshape, {4, 6}, {{"shape", Ints{0, 2, -1}}}, "2x2x12"},
      {Op::kPermute, {4, 6}, {{"order", Ints{0, 2, 1}}}, "2x6x4"},
      {Op::kSlice, {4, 6}, {{"axis", i(1)}, {"start", i(-1)}}, "2x1x6"},
      {Op::kMean, {4, 6, 5}, {{"axes", Ints{2, 3}}}, "2x4"},
      {Op::kSoftmax, {4, 6}, {}, "2x4x6"},
      {Op::kGroupNorm, {4, 6}, {{"groups", i(2)}}, "2x4x6"},
      {Op::kRoll, {4, 6, 5}, {{"shifts", Ints{-2, 7}}, {"axes", Ints{1, 3}}}, "2x4x6x5"},
      {Op::kAttentionCore, {5, 12}, {{"heads", i(2)}}, "2x5x4"},
      {Op::kAttentionCore, {6, 5, 12}, {{"heads", i(2)}, {"rows", i(9)}}, "2x6x5x4"},
  };
  for (const Row& row : rows) {
    Network net;
    net.add(Op::kInput, {}, {{"shape", row.input}});
    net.add(row.op, {0}, row.attrs);
    EXPECT_EQ(to_text(infer_shapes(net, 2).back()), row.output) << name_of(row.op);
  }
}

TEST(Cost, PublishedParameterCounts) {
  const std::vector<std::pair<const char*, double>> rows = {
      {"lenet5", 61706},       {"resnet18", 11689512},  {"resnet34", 21797672},  {"resnet50", 25557032},
      {"resnet101", 44549160}, {"resnet152", 60192808}, {"mobilenetv2", 3504872}};
  for (const auto& [name, parameters] : rows) {
    EXPECT_EQ(network_cost(build(parse_zoo(name)), 1).parameters, parameters) << name;
  }
}

TEST(Cost, ResNet50NeedsAbout4GigaMultiplyAdds) {
  // torchvision publishes 4.09 GMACs; element-wise ops add a little here.
  EXPECT_NEAR(network_cost(build(parse_zoo("resnet50")), 1).forward_flops / 2, 4.09e9, 0.06e9);
}

TEST(Shape, RollsAndWindowsMustFit) {
  const auto refused = [](Op op, const Ints& input, const Attrs& attrs) {
    Network net;
    net.add(Op::kInput, {}, {{"shape", input}});
    net.add(op, {0}, attrs);
    EXPECT_THROW(infer_shapes(net, 2), Error);
  };
  refused(Op::kRoll, {4, 6}, {{"shifts", Ints{1, 2}}, {"axes", Ints{1}}});
  refused(Op::kRoll, {4, 6}, {{"shifts", Ints{1}}, {"axes", Ints{3}}});
  refused(Op::kAttentionCore, {12}, {{"heads", std::int64_t{2}}});
  refused(Op::kAttentionCore, {2, 2, 5, 12}, {{"heads", std::int64_t{2}}});
}

// Attention inside windows costs what it costs over as many samples; a bias is trained once.
TEST(Cost, WindowsAreLikeSamples) {
  const auto cost = [](const Ints& input, std::int64_t batch) {
    Network net;
    net.add(Op::kInput, {}, {{"shape", input}});
    net.add(Op::kAttentionCore, {0}, {{"heads", std::int64_t{2}}, {"rows", std::int64_t{9}}});
    return network_cost(net, batch);
  };
  const Cost windows = cost({6, 5, 12}, 2), samples = cost({5, 12}, 12);
  EXPECT_EQ(windows.parameters, 18);
  EXPECT_EQ(windows.flops(), samples.flops());
  EXPECT_EQ(windows.bytes(), samples.bytes());
}

TEST(Cost, InputLayerHandsNoGradientDown) {
  Network net;
  net.add(Op::kInput, {}, {{"shape", Ints{8}}});
  net.add(Op::kLinear, {0}, {{"out_features", std::int64_t{8}}});
  net.add(Op::kLinear, {1}, {{"out_features", std::int64_t{8}}});
  const auto costs = node_costs(net, 1);
  EXPECT_EQ(costs[1].backward_flops, costs[1].forward_flops);
  EXPECT_EQ(costs[2].backward_flops, 2 * costs[2].forward_flops);
}

TEST(NetworkJson, PrintAndParseAreInverse) {
  for (const ZooEntry& entry : zoo()) {
    const Network net = build(parse_zoo(entry.name));
    const Json json = network_to_json(net);
    EXPECT_EQ(network_to_json(network_from_json(json, "again")), json) << entry.name;
  }
}

TEST(Zoo, ParametersReadAndWrite) {
  EXPECT_EQ(to_text(parse_zoo("lenet5:f1=60,c1=3")), "lenet5:c1=3,f1=60");
  EXPECT_EQ(to_text(parse_zoo("lenet5:c1=6")), "lenet5");
  for (const char* bad : {"lenet6", "lenet5:c9=3", "lenet5:c1=0", "lenet5:c1=x", "lenet5:c1", "lenet5:c1=-4",
                          "transformer:hidden=6", "lenet5:c1=99999999999999999999"}) {
    EXPECT_THROW(parse_zoo(bad), Error) << bad;
  }
}

TEST(Zoo, SmallestNetworksAreValid) {
  for (const ZooEntry& entry : zoo()) {
    ZooChoice choice = parse_zoo(entry.name);
    for (const ZooParameter& p : entry.parameters) {
      if (p.sampled) choice.values[p.name] = p.min;
    }
    EXPECT_NO_THROW(infer_shapes(build(choice), 2)) << entry.name;
  }
}

TEST(NetworkJson, CapturedCallsHoldForTheirBatchOnly) {
  const char* text = R"({"nodes": [{"op": "input", "shape": [1]},
    {"op": "calls", "name": "stem", "calls": "{}", "label": "Conv2d", "batch": 32, "flops": 5000000000000, "bytes": 7}]})";
  const Network net = network_from_json(parse_json(text, "t"), "t");
  EXPECT_EQ(captured_batch(net), 32);
  EXPECT_EQ(captured_batch(build(parse_zoo("lenet5"))), std::nullopt);
  EXPECT_EQ(network_cost(net, 32).flops(), 5e12);
  EXPECT_EQ(network_cost(net, 32).bytes(), 7 + network_cost(net, 32).update_bytes);
  try {
    infer_shapes(net, 16);
    FAIL() << "another batch is another step";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("captured with batch 32"));
  }
  const Json json = network_to_json(net);
  EXPECT_EQ(network_to_json(network_from_json(json, "again")), json);
  for (const char* bad : {R"({"op": "calls"})", R"({"op": "calls", "calls": {}})",
                          R"({"op": "calls", "calls": "{}", "flops": -1})"}) {
    const std::string nodes = R"({"nodes": [{"op": "input", "shape": [1]}, )" + std::string(bad) + "]}";
    EXPECT_THROW(network_from_json(parse_json(nodes, "t"), "t"), Error) << bad;
  }
}

}  // namespace
}  // namespace ampere

#include "import/script/torchscript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "network/cost.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kBatch = 2;

// Writes passes as a worker would record them.
class Pass {
 public:
  Pass() {
    pass_.name = "Net";
    pass_.batch = kBatch;
  }
  int input(Ints shape, const std::string& dtype = "float", int batch_axis = 0) {
    pass_.inputs.push_back(tensor(std::move(shape), TensorRole::kInput, "", dtype));
    pass_.tensors.back().batch_axis = batch_axis;
    return pass_.inputs.back();
  }
  int parameter(Ints shape, const std::string& name) {
    double count = 1;
    for (std::int64_t d : shape) count *= static_cast<double>(d);
    pass_.parameters += count;
    return tensor(std::move(shape), TensorRole::kParameter, name);
  }
  int constant(Ints shape, const std::string& dtype = "float") {
    return tensor(std::move(shape), TensorRole::kConstant, "", dtype);
  }
  std::vector<int> ops(const std::string& op, Json args, std::vector<Ints> outputs,
                       const std::string& module = "", const std::string& dtype = "float") {
    RecordedOp recorded{"aten::" + op, module, std::move(args), {}};
    for (Ints& shape : outputs)
      recorded.outputs.push_back(tensor(std::move(shape), TensorRole::kValue, "", dtype));
    pass_.ops.push_back(recorded);
    return recorded.outputs;
  }
  int op(const std::string& name, Json args, Ints output, const std::string& module = "",
         const std::string& dtype = "float") {
    return ops(name, std::move(args), {std::move(output)}, module, dtype)[0];
  }
  // linear, as nn.Linear calls it.
  int linear(int in, Ints shape, std::int64_t out, const std::string& module) {
    const Json w = t(parameter({out, shape.back()}, module + ".weight"));
    const Json b = t(parameter({out}, module + ".bias"));
    shape.back() = out;
    return op("linear", {{"input", t(in)}, {"weight", w}, {"bias", b}}, shape, module);
  }
  static Json t(int index) { return {{"tensor", index}}; }

  Imported import(int output, const ImportOptions& options = {}) {
    pass_.outputs = {output};
    // Through JSON, as it comes from a worker.
    return import_torchscript(recorded_pass_from_json(to_json(pass_)), "net", "net.pt", options);
  }
  RecordedPass& raw() { return pass_; }

 private:
  int tensor(Ints shape, TensorRole role, const std::string& name = "", const std::string& dtype = "float") {
    pass_.tensors.push_back({std::move(shape), dtype, role, name, 0});
    return static_cast<int>(pass_.tensors.size()) - 1;
  }
  RecordedPass pass_;
};

std::vector<std::string> words(const Network& network) {
  std::vector<std::string> ops;
  for (const Node& node : network.nodes()) ops.push_back(name_of(node.op));
  return ops;
}

double parameters(const Network& network) { return network_cost(network, kBatch).parameters; }

TEST(TorchScript, AConvolutionalNetworkKeepsItsNamesAndNumbers) {
  Pass p;
  const int x = p.input({kBatch, 3, 8, 8});
  int y = p.op("conv2d",
               {{"input", Pass::t(x)},
                {"weight", Pass::t(p.parameter({6, 3, 3, 3}, "conv.weight"))},
                {"bias", nullptr},
                {"stride", {2, 2}},
                {"padding", {1, 1}},
                {"dilation", {1, 1}},
                {"groups", 1}},
               {kBatch, 6, 4, 4}, "conv");
  y = p.op("batch_norm",
           {{"input", Pass::t(y)},
            {"weight", Pass::t(p.parameter({6}, "bn.weight"))},
            {"bias", Pass::t(p.parameter({6}, "bn.bias"))},
            {"training", true}},
           {kBatch, 6, 4, 4}, "bn");
  y = p.op("relu_", {{"self", Pass::t(y)}}, {kBatch, 6, 4, 4}, "act");
  y = p.op("max_pool2d",
           {{"self", Pass::t(y)},
            {"kernel_size", {2, 2}},
            {"stride", Json::array()},
            {"padding", {0, 0}},
            {"dilation", {1, 1}},
            {"ceil_mode", false}},
           {kBatch, 6, 2, 2}, "pool");
  y = p.op("flatten", {{"self", Pass::t(y)}, {"start_dim", 1}, {"end_dim", -1}}, {kBatch, 24});
  y = p.op("dropout", {{"input", Pass::t(y)}, {"p", 0.25}, {"train", true}}, {kBatch, 24}, "drop");
  y = p.linear(y, {kBatch, 24}, 10, "fc");
  const Imported net = p.import(y);
  EXPECT_THAT(words(net.network), ElementsAre("input", "conv2d", "batch_norm", "relu", "max_pool", "dropout",
                                              "flatten", "linear"));
  EXPECT_EQ(net.network.nodes()[1].name, "conv");
  EXPECT_EQ(net.network.nodes()[1].list("stride"), (Ints{2}));
  EXPECT_FALSE(net.network.nodes()[1].flag("bias"));
  EXPECT_EQ(net.network.nodes()[5].real("p"), 0.25);
  EXPECT_EQ(parameters(net.network), 162 + 12 + 250);
  EXPECT_TRUE(net.notes.empty());
}

TEST(TorchScript, DepthwiseAndSqueezeAndExcite) {
  Pass p;
  const int x = p.input({kBatch, 8, 6, 6});
  const int y = p.op("_convolution",
                     {{"input", Pass::t(x)},
                      {"weight", Pass::t(p.parameter({8, 1, 3, 3}, "dw.weight"))},
                      {"bias", nullptr},
                      {"stride", {1, 1}},
                      {"padding", {1, 1}},
                      {"dilation", {1, 1}},
                      {"transposed", false},
                      {"output_padding", {0, 0}},
                      {"groups", 8}},
                     {kBatch, 8, 6, 6}, "dw");
  int s = p.op("adaptive_avg_pool2d", {{"self", Pass::t(y)}, {"output_size", {1, 1}}}, {kBatch, 8, 1, 1});
  s = p.op("sigmoid", {{"self", Pass::t(s)}}, {kBatch, 8, 1, 1});
  const int z = p.op("mul", {{"self", Pass::t(y)}, {"other", Pass::t(s)}}, {kBatch, 8, 6, 6});
  const Network net = p.import(z).network;
  EXPECT_THAT(words(net), ElementsAre("input", "conv2d", "adaptive_avg_pool", "sigmoid", "mul"));
  EXPECT_EQ(net.nodes()[1].integer("groups"), 0);
  EXPECT_EQ(net.nodes()[4].inputs, (std::vector<int>{1, 3}));
}

// nn.MultiheadAttention with the length first: heads are folded into the batch and back.
TEST(TorchScript, AttentionThatIsSpelledOutIsOneJoin) {
  Pass p;
  const std::int64_t length = 5, width = 12, heads = 3, head = 4;
  const int x = p.input({length, kBatch, width}, "float", 1);
  int qkv = p.linear(x, {length, kBatch, width}, 3 * width, "in_proj");
  const std::vector<int> parts = p.ops("chunk", {{"self", Pass::t(qkv)}, {"chunks", 3}, {"dim", -1}},
                                       std::vector<Ints>(3, {length, kBatch, width}));
  std::vector<int> folded;
  for (int part : parts) {
    const int view = p.op("view", {{"self", Pass::t(part)}, {"size", {length, kBatch * heads, head}}},
                          {length, kBatch * heads, head});
    folded.push_back(p.op("transpose", {{"self", Pass::t(view)}, {"dim0", 0}, {"dim1", 1}},
                          {kBatch * heads, length, head}));
  }
  const int q = p.op("div", {{"self", Pass::t(folded[0])}, {"other", 2.0}}, {kBatch * heads, length, head});
  const int k = p.op("transpose", {{"self", Pass::t(folded[1])}, {"dim0", -2}, {"dim1", -1}},
                     {kBatch * heads, head, length});
  int a = p.op("bmm", {{"self", Pass::t(q)}, {"mat2", Pass::t(k)}}, {kBatch * heads, length, length});
  a = p.op("softmax", {{"self", Pass::t(a)}, {"dim", -1}}, {kBatch * heads, length, length});
  a = p.op("dropout", {{"input", Pass::t(a)}, {"p", 0.1}, {"train", true}}, {kBatch * heads, length, length});
  a = p.op("bmm", {{"self", Pass::t(a)}, {"mat2", Pass::t(folded[2])}}, {kBatch * heads, length, head});
  a = p.op("transpose", {{"self", Pass::t(a)}, {"dim0", 0}, {"dim1", 1}}, {length, kBatch * heads, head});
  a = p.op("contiguous", {{"self", Pass::t(a)}}, {length, kBatch * heads, head});
  a = p.op("view", {{"self", Pass::t(a)}, {"size", {length, kBatch, width}}}, {length, kBatch, width});
  a = p.linear(a, {length, kBatch, width}, width, "out_proj");
  const Imported net = p.import(a);
  EXPECT_THAT(words(net.network), testing::IsSupersetOf({"attention_core"}));
  const Node& core = net.network.nodes()[net.network.nodes().size() - 2];
  ASSERT_EQ(core.op, Op::kAttentionCore);
  EXPECT_EQ(core.integer("heads"), heads);
  EXPECT_EQ(core.real("dropout"), 0.1);
  EXPECT_EQ(parameters(net.network), 12 * 36 + 36 + 12 * 12 + 12);
}

TEST(TorchScript, FusedAttentionOverOnePackedProjection) {
  Pass p;
  const std::int64_t length = 5, width = 12, heads = 3, head = 4;
  const int x = p.input({kBatch, length, width});
  int qkv = p.linear(x, {kBatch, length, width}, 3 * width, "qkv");
  const Ints five = {kBatch, length, 3, heads, head}, turned = {3, kBatch, heads, length, head};
  const Ints four = {kBatch, heads, length, head};
  qkv = p.op("reshape", {{"self", Pass::t(qkv)}, {"shape", five}}, five);
  qkv = p.op("permute", {{"self", Pass::t(qkv)}, {"dims", {2, 0, 3, 1, 4}}}, turned);
  const std::vector<int> parts =
      p.ops("unbind", {{"self", Pass::t(qkv)}, {"dim", 0}}, std::vector<Ints>(3, four));
  int a = p.op("scaled_dot_product_attention",
               {{"query", Pass::t(parts[0])},
                {"key", Pass::t(parts[1])},
                {"value", Pass::t(parts[2])},
                {"attn_mask", nullptr},
                {"dropout_p", 0.0},
                {"is_causal", true}},
               four);
  a = p.op("transpose", {{"self", Pass::t(a)}, {"dim0", 1}, {"dim1", 2}}, {kBatch, length, heads, head});
  a = p.op("reshape", {{"self", Pass::t(a)}, {"shape", {kBatch, length, width}}}, {kBatch, length, width});
  const Network net = p.import(a).network;
  EXPECT_THAT(words(net), ElementsAre("input", "linear", "attention_core"));
  EXPECT_EQ(net.nodes()[2].word("mask"), "causal");
  EXPECT_EQ(net.nodes()[2].inputs.size(), 1u);
}

TEST(TorchScript, WordsPositionsAndATiedDecoder) {
  Pass p;
  const int x = p.input({kBatch, 7}, "int");
  const int table = p.parameter({50, 8}, "words.weight");
  const int positions = p.parameter({16, 8}, "positions.weight");
  int y = p.op("embedding", {{"weight", Pass::t(table)}, {"indices", Pass::t(x)}}, {kBatch, 7, 8}, "words");
  const int where = p.op("arange", {{"end", 7}}, {7}, "", "int");
  const int learned =
      p.op("embedding", {{"weight", Pass::t(positions)}, {"indices", Pass::t(where)}}, {7, 8}, "positions");
  y = p.op("add", {{"self", Pass::t(y)}, {"other", Pass::t(learned)}, {"alpha", 1}}, {kBatch, 7, 8});
  const int turned = p.op("t", {{"self", Pass::t(table)}}, {8, 50});
  y = p.op("matmul", {{"self", Pass::t(y)}, {"other", Pass::t(turned)}}, {kBatch, 7, 50});
  const Imported net = p.import(y);
  EXPECT_THAT(words(net.network), ElementsAre("input", "embedding", "learned_add", "linear"));
  EXPECT_EQ(net.network.nodes()[0].integer("classes"), 50);
  EXPECT_EQ(net.network.nodes()[2].integer("rows"), 16);
  EXPECT_TRUE(net.network.nodes()[3].flag("tied"));
  EXPECT_EQ(parameters(net.network), 50 * 8 + 16 * 8);
}

TEST(TorchScript, TheLastStatesOfARecurrentLayer) {
  Pass p;
  const int x = p.input({kBatch, 9, 4});
  Json weights = Json::array();
  for (int layer = 0; layer < 1; ++layer) {
    for (const char* way : {"", "_reverse"}) {
      for (const auto& [name, shape] : std::vector<std::pair<std::string, Ints>>{
               {"ih", {20, 4}}, {"hh", {20, 5}}, {"bih", {20}}, {"bhh", {20}}})
        weights.push_back(Pass::t(p.parameter(shape, "rnn." + name + way)));
    }
  }
  const int zeros = p.constant({2, kBatch, 5});
  const std::vector<int> out = p.ops("lstm",
                                     {{"input", Pass::t(x)},
                                      {"hx", {Pass::t(zeros), Pass::t(zeros)}},
                                      {"params", weights},
                                      {"has_biases", true},
                                      {"num_layers", 1},
                                      {"dropout", 0.0},
                                      {"train", true},
                                      {"bidirectional", true},
                                      {"batch_first", true}},
                                     {{kBatch, 9, 10}, {2, kBatch, 5}, {2, kBatch, 5}}, "rnn");
  const int last = p.op("select", {{"self", Pass::t(out[1])}, {"dim", 0}, {"index", -1}}, {kBatch, 5});
  const int first = p.op("select", {{"self", Pass::t(out[1])}, {"dim", 0}, {"index", -2}}, {kBatch, 5});
  const int both = p.op("cat", {{"tensors", {Pass::t(first), Pass::t(last)}}, {"dim", 1}}, {kBatch, 10});
  const Imported net = p.import(both);
  EXPECT_EQ(net.network.nodes()[1].op, Op::kLstm);
  EXPECT_EQ(net.network.nodes().back().op, Op::kConcat);
  EXPECT_EQ(parameters(net.network), 2 * (20 * 4 + 20 * 5 + 40));
}

TEST(TorchScript, EveryUnsupportedOpIsToldAtOnce) {
  Pass p;
  int y = p.input({kBatch, 4, 6, 6});
  y = p.op("grid_sampler", {{"input", Pass::t(y)}}, {kBatch, 4, 6, 6}, "neck.align");
  y = p.op("relu", {{"self", Pass::t(y)}}, {kBatch, 4, 6, 6});
  int z = p.op("cumsum", {{"self", Pass::t(p.input({kBatch, 3}))}, {"dim", 1}}, {kBatch, 3}, "head");
  z = p.linear(z, {kBatch, 3}, 2, "fc");
  try {
    p.import(z);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(e.what(), HasSubstr("aten::grid_sampler, 1 time: neck.align"));
    EXPECT_THAT(e.what(), HasSubstr("aten::cumsum, 1 time: head"));
  }
  ImportOptions options;
  options.ignore_unsupported = true;
  const Imported net = p.import(z, options);
  EXPECT_THAT(words(net.network), ElementsAre("input", "linear"));
  EXPECT_EQ(net.unsupported.size(), 2u);
  EXPECT_GT(net.ignored_flops_share, 0);
}

TEST(TorchScript, WhatWorksOnTheBatchIsRefused) {
  Pass p;
  const int x = p.input({kBatch, 4});
  const int y = p.op("view", {{"self", Pass::t(x)}, {"size", {1, 8}}}, {1, 8});
  EXPECT_THROW(p.import(p.linear(y, {1, 8}, 2, "fc")), Error);
}

TEST(TorchScript, TracedForInferenceIsSaid) {
  Pass p;
  int y = p.linear(p.input({kBatch, 4}), {kBatch, 4}, 4, "fc");
  y = p.op("dropout", {{"input", Pass::t(y)}, {"p", 0.5}, {"train", false}}, {kBatch, 4}, "drop");
  const Imported net = p.import(y);
  EXPECT_TRUE(net.for_inference);
  ASSERT_EQ(net.notes.size(), 1u);
  EXPECT_THAT(net.notes[0], HasSubstr("inference mode"));
  EXPECT_EQ(net.network.nodes().back().op, Op::kDropout);
}

// A worker is a stranger too.
TEST(TorchScript, PassesThatCannotBeTrue) {
  Pass good;
  const int y = good.linear(good.input({kBatch, 4}), {kBatch, 4}, 2, "fc");
  good.raw().outputs = {y};
  const Json pass = to_json(good.raw());
  EXPECT_NO_THROW(recorded_pass_from_json(pass));
  const std::vector<std::pair<const char*, std::function<void(Json&)>>> damages = {
      {"a list", [](Json& j) { j = Json::array(); }},
      {"no tensors", [](Json& j) { j.erase("tensors"); }},
      {"no batch", [](Json& j) { j["batch"] = 0; }},
      {"a batch of text", [](Json& j) { j["batch"] = "two"; }},
      {"a negative dimension",
       [](Json& j) {
         j["tensors"][0]["shape"] = {-1, 4};
       }},
      {"a huge dimension",
       [](Json& j) {
         j["tensors"][0]["shape"] = {std::int64_t{1} << 60, 4};
       }},
      {"too many elements",
       [](Json& j) {
         j["tensors"][0]["shape"] = {1 << 30, 1 << 30, 1 << 30};
       }},
      {"an unknown role", [](Json& j) { j["tensors"][0]["role"] = "king"; }},
      {"an output that is not there", [](Json& j) { j["outputs"] = {99}; }},
      {"a negative output", [](Json& j) { j["outputs"] = {-1}; }},
      {"an argument that is not there", [](Json& j) { j["ops"][0]["args"]["input"]["tensor"] = 99; }},
      {"an argument before it is put out", [&](Json& j) { j["ops"][0]["args"]["input"]["tensor"] = y; }},
      {"an output twice", [](Json& j) { j["ops"].push_back(j["ops"][0]); }},
      {"an op without a name", [](Json& j) { j["ops"][0].erase("op"); }},
      {"a batch axis too far", [](Json& j) { j["tensors"][0]["batch_axis"] = 2; }},
  };
  for (const auto& [what, damage] : damages) {
    Json bad = pass;
    damage(bad);
    EXPECT_THROW(recorded_pass_from_json(bad), Error) << what;
  }
}

TEST(TorchScript, ArgumentsOfTheWrongKindAreRefusedOpByOp) {
  Pass p;
  const int y = p.linear(p.input({kBatch, 4}), {kBatch, 4}, 2, "fc");
  p.raw().ops[0].args["weight"] = 3;
  EXPECT_THROW(p.import(y), Error);
  p.raw().ops[0].args = {{"nothing", Pass::t(0)}};
  EXPECT_THROW(p.import(y), Error);
}

// Shapes and numbers that no framework puts out; the sanitizers see what is read where nothing is.
TEST(TorchScript, OpsWhoseShapesCannotBeTrueAreRefused) {
  struct Case {
    const char* op;
    Json args;  // beside self and input, which are a 2x3x8x8 tensor
    Ints output;
  };
  Pass with;
  const int x = with.input({kBatch, 3, 8, 8});
  const Json data = Pass::t(x), matrix = Pass::t(with.parameter({4, 8}, "matrix")),
             vector = Pass::t(with.parameter({8}, "vector")),
             kernel = Pass::t(with.parameter({4, 3, 3, 3}, "kernel"));
  const std::int64_t huge = std::int64_t{1} << 62;
  const std::vector<Case> cases = {
      {"slice", {{"dim", 3}, {"start", 0}, {"end", 2}}, {kBatch, 3, 8}},
      {"slice", {{"dim", 3}, {"start", 0}, {"step", huge}}, {kBatch, 3, 8, 5}},
      {"slice", {{"dim", 3}, {"start", 6}}, {kBatch, 3, 8, 5}},
      {"select", {{"dim", 3}, {"index", 8}}, {kBatch, 3, 8}},
      {"expand", {{"size", {8}}}, {8}},
      {"permute", {{"dims", {0, 1, 2, 2}}}, {kBatch, 3, 8, 8}},
      {"permute", {{"dims", {0, 1}}}, {kBatch, 3}},
      {"cat", {{"tensors", Json::array()}, {"dim", 1}}, {kBatch, 3, 8, 8}},
      {"stack", {{"tensors", {data, data}}, {"dim", 5}}, {kBatch, 3, 8, 8, 1, 2}},
      {"contiguous", Json::object(), {kBatch, 3, 8}},
      {"mul", {{"other", 2}}, {kBatch, 3, 8, 9}},
      {"adaptive_avg_pool2d", {{"output_size", {1, 1}}}, {kBatch}},
      {"upsample_nearest2d", {{"output_size", {16, 16}}}, {kBatch, 3}},
      {"instance_norm", Json::object(), {kBatch}},
      {"conv2d", {{"weight", kernel}}, {kBatch}},
      {"conv2d", {{"weight", kernel}, {"padding", "same"}, {"dilation", {1, huge}}}, {kBatch, 4, 8, 8}},
      {"conv2d", {{"weight", kernel}, {"padding", "same"}, {"dilation", Json::array()}}, {kBatch, 4, 8, 8}},
      {"addmm", {{"mat1", data}, {"mat2", vector}, {"self", vector}}, {kBatch, 3, 8, 8}},
      {"embedding", {{"weight", matrix}, {"indices", data}}, {kBatch, 3, 8, 8, 8}},
      {"matmul", {{"other", data}}, {kBatch}},
  };
  for (const Case& one : cases) {
    Pass p = with;
    Json args = one.args;
    for (const char* name : {"self", "input"}) {
      if (!args.contains(name)) args[name] = data;
    }
    if (args.contains("tensors")) args.erase("self");
    const int y = p.op(one.op, args, one.output);
    EXPECT_THROW(p.import(p.op("relu", {{"self", Pass::t(y)}}, one.output)), Error)
        << one.op << " " << one.args.dump();
  }
  Pass p;
  const int words = p.input({kBatch, 5});
  const int y =
      p.op("embedding", {{"weight", Pass::t(p.parameter({9, 4}, "table"))}, {"indices", Pass::t(words)}},
           {kBatch, 5, 4});
  EXPECT_THROW(p.import(y), Error);
}

TEST(TorchScript, ARecurrentOpOfTooManyLayersIsRefused) {
  Pass p;
  const int x = p.input({kBatch, 5, 4});
  const Json w = Pass::t(p.parameter({16, 4}, "w"));
  const int y = p.op("lstm",
                     {{"input", Pass::t(x)},
                      {"params", {w, w, w, w}},
                      {"has_biases", true},
                      {"batch_first", true},
                      {"num_layers", std::int64_t{1} << 62}},
                     {kBatch, 5, 4});
  EXPECT_THROW(p.import(y), Error);
}

TEST(TorchScript, ProductsOfProductsEnd) {
  Pass p;
  int y = p.input({kBatch, 4, 4});
  for (int i = 0; i < 5000; ++i)
    y = p.op("matmul", {{"self", Pass::t(y)}, {"other", Pass::t(y)}}, {kBatch, 4, 4});
  EXPECT_THROW(p.import(p.op("relu", {{"self", Pass::t(y)}}, {kBatch, 4, 4})), Error);
}

TEST(TorchScript, Paths) {
  EXPECT_TRUE(is_torchscript_path("a/net.pt"));
  EXPECT_TRUE(is_torchscript_path("net.pth"));
  EXPECT_FALSE(is_torchscript_path(".pt"));
  EXPECT_FALSE(is_torchscript_path("net.json"));
}

}  // namespace
}  // namespace ampere

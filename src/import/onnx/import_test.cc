#include "import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "import/onnx/onnx_for_test.h"
#include "network/cost.h"
#include "network/network_json.h"

namespace ampere {
namespace {

using onnx::At;
using onnx::FileBuilder;
using onnx::Sizes;
using testing::ElementsAre;
using testing::HasSubstr;

Imported import_of(const FileBuilder& file, const ImportOptions& options = {}) {
  const std::string bytes = file.str();
  return import_onnx(bytes.data(), bytes.size(), "net", "net.onnx", options);
}

std::vector<std::string> ops_of(const Network& network) {
  std::vector<std::string> out;
  for (const Node& n : network.nodes()) out.push_back(name_of(n.op));
  return out;
}

std::string refusal(const FileBuilder& file, const ImportOptions& options = {}) {
  try {
    import_of(file, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
    return e.what();
  }
  return "";
}

const Node& last(const Imported& i) { return i.network.nodes().back(); }

TEST(Import, ConvolutionsOfAllKinds) {
  const auto i =
      import_of(FileBuilder()
                    .input("x", {4, 8, 16, 16})
                    .weight("a.weight", {16, 8, 3, 3})
                    .weight("a.bias", {16})
                    .weight("b.weight", {16, 1, 3, 3})
                    .weight("c.weight", {32, 4, 1, 1})
                    .node("Conv", {"x", "a.weight", "a.bias"}, {"a"}, {{"pads", Sizes{1, 1, 1, 1}}})
                    .node("Conv", {"a", "b.weight"}, {"b"}, {{"group", 16}, {"strides", Sizes{2, 2}}})
                    .node("Conv", {"b", "c.weight"}, {"c"}, {{"group", 4}})
                    .output("c"));
  EXPECT_THAT(ops_of(i.network), ElementsAre("input", "conv2d", "conv2d", "conv2d"));
  EXPECT_EQ(i.batch, 4);
  EXPECT_EQ(i.network.nodes()[1].name, "a");
  EXPECT_TRUE(i.network.nodes()[1].flag("bias"));
  EXPECT_EQ(i.network.nodes()[1].list("padding"), Sizes{1});
  EXPECT_EQ(i.network.nodes()[2].integer("groups"), 16);
  EXPECT_FALSE(i.network.nodes()[2].flag("bias"));
  EXPECT_EQ(network_cost(i.network, 1).parameters, 16 * 8 * 9 + 16 + 16 * 9 + 32 * 4);
}

// Padding as TensorFlow writes it, and before the convolution.
TEST(Import, PaddingThatIsUnevenOrApart) {
  FileBuilder file;
  file.input("x", {1, 3, 224, 224}).weight("w", {8, 3, 3, 3}).ints("pads", {0, 0, 0, 0, 0, 0, 1, 1});
  file.node("Conv", {"x", "w"}, {"a"}, {{"auto_pad", "SAME_UPPER"}, {"strides", Sizes{2, 2}}}).output("a");
  file.node("Pad", {"x", "pads"}, {"p"})
      .node("Conv", {"p", "w"}, {"b"}, {{"strides", Sizes{2, 2}}})
      .output("b");
  const auto i = import_of(file);
  for (const Tensor& t : infer_shapes(i.network, 2)) {
    if (t.dims[1] != 8) continue;
    EXPECT_EQ(to_text(t), "2x8x112x112");
  }
}

TEST(Import, LinearLayersHoweverTheyAreWritten) {
  const auto i = import_of(FileBuilder()
                               .input("x", {2, 5, 8})
                               .weight("w1", {8, 6})
                               .weight("b1", {6})
                               .weight("w2", {4, 6})
                               .weight("b2", {4})
                               .ints("flat", {10, 6})
                               .node("MatMul", {"x", "w1"}, {"m"})
                               .node("Add", {"b1", "m"}, {"a"})
                               .node("Reshape", {"a", "flat"}, {"f"})
                               .node("Gemm", {"f", "w2", "b2"}, {"g"}, {{"transB", 1}})
                               .output("g"));
  EXPECT_THAT(ops_of(i.network), ElementsAre("input", "linear", "linear"));
  EXPECT_EQ(network_cost(i.network, 1).parameters, 8 * 6 + 6 + 6 * 4 + 4);
  EXPECT_EQ(to_text(infer_shapes(i.network, 7).back()), "7x5x4");
}

TEST(Import, SpelledOutGeluSiluAndLayerNorm) {
  FileBuilder file(13);
  file.input("x", {2, 5, 8}).weight("g", {8}).weight("b", {8});
  file.number("two", 2).number("eps", 1e-5F).number("root", 1.414F).number("one", 1).number("half", 0.5F);
  file.node("ReduceMean", {"x"}, {"mean"}, {{"axes", Sizes{-1}}}).node("Sub", {"x", "mean"}, {"d"});
  file.node("Pow", {"d", "two"}, {"sq"}).node("ReduceMean", {"sq"}, {"var"}, {{"axes", Sizes{-1}}});
  file.node("Add", {"var", "eps"}, {"ve"}).node("Sqrt", {"ve"}, {"sd"}).node("Div", {"d", "sd"}, {"n"});
  file.node("Mul", {"n", "g"}, {"ng"}).node("Add", {"ng", "b"}, {"y"});
  file.node("Div", {"y", "root"}, {"s"}).node("Erf", {"s"}, {"e"}).node("Add", {"e", "one"}, {"e1"});
  file.node("Mul", {"y", "e1"}, {"ye"}).node("Mul", {"ye", "half"}, {"gelu"});
  file.node("Sigmoid", {"gelu"}, {"sig"}).node("Mul", {"gelu", "sig"}, {"silu"}).output("silu");
  const auto i = import_of(file);
  EXPECT_THAT(ops_of(i.network), ElementsAre("input", "layer_norm", "gelu", "silu"));
  EXPECT_EQ(network_cost(i.network, 1).parameters, 16);
}

FileBuilder attention_file(std::int64_t opset) {
  FileBuilder file(opset);
  file.input("x", {2, 6, 8}).ints("split", {2, 6, 2, 4}).ints("merge", {2, 6, 8}).number("scale", 0.5F);
  for (const char* p : {"q", "k", "v"}) {
    const std::string n = p;
    file.weight("w" + n, {8, 8}).node("MatMul", {"x", "w" + n}, {n + "1"});
    file.node("Reshape", {n + "1", "split"}, {n + "2"});
    const Sizes order = n == "k" ? Sizes{0, 2, 3, 1} : Sizes{0, 2, 1, 3};
    file.node("Transpose", {n + "2"}, {n}, {{"perm", order}});
  }
  file.node("MatMul", {"q", "k"}, {"s"}).node("Mul", {"s", "scale"}, {"s1"});
  return file;
}

TEST(Import, AttentionIsOneOp) {
  FileBuilder file = attention_file(17);
  file.node("Softmax", {"s1"}, {"p"}, {{"axis", -1}}).node("MatMul", {"p", "v"}, {"o"});
  file.node("Transpose", {"o"}, {"o1"}, {{"perm", Sizes{0, 2, 1, 3}}})
      .node("Reshape", {"o1", "merge"}, {"y"})
      .output("y");
  const auto i = import_of(file);
  EXPECT_THAT(ops_of(i.network), ElementsAre("input", "linear", "linear", "linear", "attention_core"));
  EXPECT_EQ(last(i).integer("heads"), 2);
  EXPECT_EQ(last(i).word("mask"), "none");
}

// One block of a transformer whose windows are shifted, over 4 x 4 positions in windows of 2 x 2, as
// PyTorch's exporters write it: roll, windows, biases of relative positions, masks of the regions that were
// rolled in.
class WindowsFile : public FileBuilder {
 public:
  // The newer exporter looks the biases up itself (`folded`) and keeps no table.
  explicit WindowsFile(bool folded) {
    input("x", {2, 4, 4, 8}).weight("qkv.weight", {8, 24}).weight("qkv.bias", {24}).weight("out", {8, 8});
    ints("i0", {0}).ints("i1", {1}).ints("i2", {2}).ints("i3", {3}).ints("i4", {4}).number("scale", 0.5F);
    ints("n0", {0}, true).ints("n1", {1}, true).ints("n2", {2}, true);
    ints("split", {2, 2, 2, 2, 2, 8}).ints("windows", {8, 4, 8}).ints("whole", {2, 4, 4, 8});
    roll("x", "i1", "rolled");
    node("Reshape", {"rolled", "split"}, {"w1"});
    node("Transpose", {"w1"}, {"w2"}, {{"perm", Sizes{0, 1, 3, 2, 4, 5}}});
    node("Reshape", {"w2", "windows"}, {"w3"}).node("MatMul", {"w3", "qkv.weight"}, {"p1"});
    ints("heads", {8, 4, 3, 2, 4})
        .node("Add", {"p1", "qkv.bias"}, {"p2"})
        .node("Reshape", {"p2", "heads"}, {"p3"});
    node("Transpose", {"p3"}, {"p4"}, {{"perm", Sizes{2, 0, 3, 1, 4}}});
    node("Gather", {"p4", "n0"}, {"q"})
        .node("Gather", {"p4", "n1"}, {"k"})
        .node("Gather", {"p4", "n2"}, {"v"});
    node("Mul", {"q", "scale"}, {"q1"}).node("Transpose", {"k"}, {"k1"}, {{"perm", Sizes{0, 1, 3, 2}}});
    if (folded)
      weight("bias", {1, 2, 4, 4});
    else
      look_up();
    node("MatMul", {"q1", "k1"}, {"s1"}).node("Add", {"s1", "bias"}, {"s2"});
    mask();
    ints("apart", {2, 4, 2, 4, 4}).ints("again", {8, 2, 4, 4}).node("Reshape", {"s2", "apart"}, {"s3"});
    node("Add", {"s3", "mask"}, {"s4"}).node("Reshape", {"s4", "again"}, {"s5"});
    node("Softmax", {"s5"}, {"a1"}, {{"axis", -1}}).node("MatMul", {"a1", "v"}, {"a2"});
    node("Transpose", {"a2"}, {"a3"}, {{"perm", Sizes{0, 2, 1, 3}}})
        .node("Reshape", {"a3", "windows"}, {"a4"});
    node("MatMul", {"a4", "out"}, {"o1"}).node("Reshape", {"o1", "split"}, {"o2"});
    node("Transpose", {"o2"}, {"o3"}, {{"perm", Sizes{0, 1, 3, 2, 4, 5}}})
        .node("Reshape", {"o3", "whole"}, {"o4"});
    roll("o4", "i3", "back");
    node("Add", {"x", "back"}, {"y"}).output("y");
  }

 private:
  void roll(const std::string& from, const std::string& at, const std::string& to) {
    std::string value = from;
    for (const std::string axis : {"i1", "i2"}) {
      const std::string name = to + axis;
      node("Slice", {value, "i0", at, axis}, {name + "a"})
          .node("Slice", {value, at, "i4", axis}, {name + "b"});
      value = axis == "i2" ? to : name;
      node("Concat", {name + "b", name + "a"}, {value}, {{"axis", axis == "i1" ? 1 : 2}});
    }
  }
  void look_up() {
    weight("table", {9, 2}).weight("index", {16}, 7).ints("pairs", {4, 4, 2});
    node("Gather", {"table", "index"}, {"b1"}).node("Reshape", {"b1", "pairs"}, {"b2"});
    node("Transpose", {"b2"}, {"b3"}, {{"perm", Sizes{2, 0, 1}}}).node("Unsqueeze", {"b3", "i0"}, {"bias"});
  }
  // The number of the region that each position comes from, and where two of a window differ.
  void mask() {
    ints("area", {4, 4}).ints("rows", {2, 3}).weight("ones", {2, 4}).number("far", -100);
    node("ConstantOfShape", {"area"}, {"r0"}).node("Unsqueeze", {"rows", "i1"}, {"places"});
    node("ScatterND", {"r0", "places", "ones"}, {"r1"})
        .ints("r.split", {2, 2, 2, 2})
        .ints("r.windows", {4, 4});
    node("Reshape", {"r1", "r.split"}, {"r2"})
        .node("Transpose", {"r2"}, {"r3"}, {{"perm", Sizes{0, 2, 1, 3}}});
    node("Reshape", {"r3", "r.windows"}, {"r4"});
    node("Unsqueeze", {"r4", "i1"}, {"r5"}).node("Unsqueeze", {"r4", "i2"}, {"r6"});
    node("Sub", {"r5", "r6"}, {"d"}).number("zero", 0).node("Equal", {"d", "zero"}, {"same"});
    node("Where", {"same", "d", "far"}, {"m1"}).ints("m.shape", {1, 4, 1, 4, 4});
    node("Reshape", {"m1", "m.shape"}, {"mask"});
  }
};

TEST(Import, ShiftedWindows) {
  for (const bool folded : {false, true}) {
    const auto i = import_of(WindowsFile(folded));
    EXPECT_THAT(ops_of(i.network),
                ElementsAre("input", "roll", "reshape", "permute", "reshape", "linear", "attention_core",
                            "linear", "reshape", "permute", "reshape", "roll", "add"));
    const auto& nodes = i.network.nodes();
    EXPECT_EQ(nodes[6].integer("heads"), 2);
    EXPECT_EQ(nodes[6].integer("rows"), 9);
    EXPECT_EQ(nodes[6].word("mask"), "additive");
    EXPECT_EQ(nodes[1].list("shifts"), (Sizes{-1, -1}));
    EXPECT_EQ(nodes[11].list("shifts"), (Sizes{1, 1}));
    EXPECT_EQ(network_cost(i.network, 1).parameters, 8 * 24 + 24 + 9 * 2 + 8 * 8);
    const std::vector<Tensor> shapes = infer_shapes(i.network, 5);
    EXPECT_EQ(to_text(shapes[6]), "5x4x4x8");
    EXPECT_EQ(to_text(shapes.back()), "5x4x4x8");
    const bool told = std::any_of(i.notes.begin(), i.notes.end(), [](const std::string& n) {
      return n.find("relative positions") != std::string::npos;
    });
    EXPECT_EQ(told, folded);
  }
}

// A mean whose strides PyTorch changes, which its newer exporter writes as a lookup of every element.
TEST(Import, ALookupOfEveryElementIsAView) {
  for (const bool told : {true, false}) {
    FileBuilder file;
    file.input("x", {2, 3, 4, 4}).weight("w", {8, 3, 1, 1}).weight("f", {5, 8}).ints("flat", {-1});
    file.node("Conv", {"x", "w"}, {"c"}).node("ReduceMean", {"c"}, {"m"}, {{"axes", Sizes{-1, -2}}});
    Sizes places;
    for (std::int64_t k = 0; k < 16; ++k) places.push_back(k);
    if (told)
      file.ints("list", places).ints("as", {2, 8, 1, 1}).node("Reshape", {"list", "as"}, {"index"});
    else
      file.weight("index", {2, 8, 1, 1}, 7);
    file.node("Reshape", {"m", "flat"}, {"m1"}).node("Gather", {"m1", "index"}, {"m2"}, {{"axis", 0}});
    file.node("Flatten", {"m2"}, {"m3"}).node("Gemm", {"m3", "f"}, {"y"}, {{"transB", 1}}).output("y");
    const auto i = import_of(file);
    EXPECT_THAT(ops_of(i.network), ElementsAre("input", "conv2d", "adaptive_avg_pool", "flatten", "linear"));
    EXPECT_EQ(to_text(infer_shapes(i.network, 7).back()), "7x5");
  }
}

TEST(Import, OtherLookupsOfDataAreRefused) {
  FileBuilder file;
  file.input("x", {2, 8}).weight("w", {8, 8}).weight("index", {8}, 7);
  file.node("MatMul", {"x", "w"}, {"a"}).node("Gather", {"a", "index"}, {"y"}, {{"axis", 1}}).output("y");
  EXPECT_THAT(refusal(file), HasSubstr("Gather (places that the file does not tell)"));
}

// Sizes that are written into a constant one by one.
TEST(Import, ScatteredSizes) {
  auto file = [](std::int64_t place) {
    FileBuilder f;
    f.input("x", {2, 3, 4}).ints("base", {2, 0}).ints("at", {place}).ints("axis", {1}).ints("size", {12});
    f.weight("w", {12, 5}).node("Unsqueeze", {"at", "axis"}, {"places"});
    f.node("ScatterND", {"base", "places", "size"}, {"to"}).node("Reshape", {"x", "to"}, {"r"});
    f.node("MatMul", {"r", "w"}, {"y"}).output("y");
    return f;
  };
  for (std::int64_t place : {1, -1})
    EXPECT_EQ(to_text(infer_shapes(import_of(file(place)).network, 3).back()), "3x5");
  for (std::int64_t place : {2LL, -3LL, 1LL << 60}) EXPECT_FALSE(refusal(file(place)).empty()) << place;
}

// Products by name of their dimensions: of queries with keys, or the other way round, and with values.
TEST(Import, EinsumIsAProduct) {
  for (const char* equation : {"b h i d, b h j d -> b h i j", "bhjd,bhid->bhij"}) {
    FileBuilder file;
    file.input("x", {2, 6, 8}).ints("split", {2, 6, 2, 4}).weight("wq", {8, 8}).weight("wk", {8, 8});
    for (const std::string n : {"q", "k"}) {
      file.node("MatMul", {"x", "w" + n}, {n + "1"}).node("Reshape", {n + "1", "split"}, {n + "2"});
      file.node("Transpose", {n + "2"}, {n}, {{"perm", Sizes{0, 2, 1, 3}}});
    }
    file.node("Einsum", {"q", "k"}, {"s"}, {{"equation", equation}})
        .node("Softmax", {"s"}, {"p"}, {{"axis", -1}});
    file.node("Einsum", {"p", "k"}, {"y"}, {{"equation", "bhij,bhjd->bhid"}}).output("y");
    const auto i = import_of(file);
    EXPECT_THAT(ops_of(i.network), testing::Contains("attention_core")) << equation;
    EXPECT_THAT(ops_of(i.network), testing::Not(testing::Contains("matmul"))) << equation;
    EXPECT_EQ(to_text(infer_shapes(i.network, 3).back()), "3x2x6x4") << equation;
  }
  for (const char* equation :
       {"", "->", ",->", "bhid,bhjd", "bhid,bhjd->bhji i", "bhid,bhjd->", "bhi...,bhj...->bhij",
        "bhii,bhjd->bhij", "bhid,bhjd->ibhj", "bid,bjd->bij", "bhid,bhjd->bhid"}) {
    FileBuilder file;
    file.input("x", {2, 2, 6, 4}).node("Einsum", {"x", "x"}, {"y"}, {{"equation", equation}}).output("y");
    EXPECT_THAT(refusal(file), HasSubstr("Einsum")) << equation;
  }
}

// A table that all layers look their biases up in is trained once; a mask may have been added to it before.
TEST(Import, BiasesOfOneTable) {
  FileBuilder file = attention_file(17);
  file.weight("table", {11, 2}).weight("index", {6, 6}, 7).ints("batch", {2, 2, 6, 6}).number("far", -1);
  file.node("Gather", {"table", "index"}, {"b1"})
      .node("Transpose", {"b1"}, {"b2"}, {{"perm", Sizes{2, 0, 1}}});
  file.node("Expand", {"far", "batch"}, {"mask"}).node("Add", {"b2", "mask"}, {"b3"});
  for (const std::string n : {"1", "2"}) {
    file.node("Add", {"s1", "b3"}, {"t" + n}).node("Softmax", {"t" + n}, {"p" + n}, {{"axis", -1}});
    file.node("MatMul", {"p" + n, "v"}, {"y" + n}).output("y" + n);
  }
  const auto i = import_of(file);
  EXPECT_EQ(network_cost(i.network, 1).parameters, 3 * 8 * 8 + 11 * 2);
  EXPECT_THAT(ops_of(i.network), testing::Not(testing::Contains("matmul")));
}

// PyTorch's exporters put zeros where a softmax gives no numbers.
TEST(Import, SoftmaxThatIsGuardedIsAttention) {
  FileBuilder file = attention_file(17);
  file.node("Softmax", {"s1"}, {"p"}, {{"axis", -1}}).node("IsNaN", {"p"}, {"n"}).number("zero", 0);
  file.node("Where", {"n", "zero", "p"}, {"p1"}).node("MatMul", {"p1", "v"}, {"y"}).output("y");
  EXPECT_THAT(ops_of(import_of(file).network),
              ElementsAre("input", "linear", "linear", "linear", "attention_core", "reshape", "permute"));
}

// Positions that are counted from the words, without those that fill up.
TEST(Import, PositionsThatAreCounted) {
  FileBuilder file;
  file.input("ids", {2, 6}, 7).weight("words", {100, 8}).weight("positions", {50, 8}).weight("w", {8, 3});
  file.ints("pad", {1}, true)
      .ints("axis", {1}, true)
      .node("Equal", {"ids", "pad"}, {"e"})
      .node("Not", {"e"}, {"m"});
  file.node("Cast", {"m"}, {"c"}, {{"to", 7}})
      .node("CumSum", {"c", "axis"}, {"s"})
      .node("Mul", {"s", "c"}, {"t"});
  file.node("Add", {"t", "pad"}, {"at"}).node("Gather", {"positions", "at"}, {"p"});
  file.node("Gather", {"words", "ids"}, {"x"})
      .node("Add", {"x", "p"}, {"y"})
      .node("MatMul", {"y", "w"}, {"z"});
  const auto i = import_of(file.output("z"));
  EXPECT_THAT(ops_of(i.network), ElementsAre("input", "embedding", "learned_add", "linear"));
  EXPECT_EQ(i.network.nodes()[2].integer("rows"), 50);
  EXPECT_EQ(network_cost(i.network, 1).parameters, 100 * 8 + 50 * 8 + 8 * 3);
}

// What only looks like attention is a product, a join of its own.
TEST(Import, OtherProductsAreJoins) {
  const auto i = import_of(attention_file(17).output("s1"));
  EXPECT_THAT(ops_of(i.network), testing::Contains("matmul"));
  EXPECT_EQ(to_text(infer_shapes(i.network, 3).back()), "3x2x6x6");
}

TEST(Import, ChannelShuffle) {
  FileBuilder file;
  file.input("x", {2, 12, 4, 4})
      .ints("apart", {2, 3, 4, 4, 4})
      .ints("again", {2, 12, 4, 4})
      .weight("w", {12, 12, 1, 1});
  file.node("Reshape", {"x", "apart"}, {"a"})
      .node("Transpose", {"a"}, {"t"}, {{"perm", Sizes{0, 2, 1, 3, 4}}});
  file.node("Reshape", {"t", "again"}, {"s"}).node("Conv", {"s", "w"}, {"y"}).output("y");
  const auto i = import_of(file);
  EXPECT_THAT(ops_of(i.network), ElementsAre("input", "channel_shuffle", "conv2d"));
  EXPECT_EQ(i.network.nodes()[1].integer("groups"), 3);
}

TEST(Import, RecurrentLayersInBothDirections) {
  FileBuilder file(14);
  file.input("x", {-1, 7, 5})
      .weight("W", {2, 18, 5})
      .weight("R", {2, 18, 6})
      .weight("B", {2, 36})
      .weight("f", {3, 6});
  file.node("Transpose", {"x"}, {"t"}, {{"perm", Sizes{1, 0, 2}}});
  file.node("GRU", {"t", "W", "R", "B"}, {"all", "state"},
            {{"hidden_size", 6}, {"direction", "bidirectional"}});
  file.ints("zero", {0}, true).node("Gather", {"state", "zero"}, {"first"}, {{"axis", 0}});
  file.node("Gemm", {"first", "f"}, {"y"}, {{"transB", 1}}).output("y");
  const auto i = import_of(file);
  EXPECT_EQ(i.batch, std::nullopt);
  EXPECT_TRUE(i.network.nodes()[1].flag("bidirectional"));
  EXPECT_EQ(to_text(infer_shapes(i.network, 9)[1]), "9x7x12");
  EXPECT_EQ(infer_shapes(i.network, 9).back().dims.back(), 3);
}

TEST(Import, NamedDimensions) {
  FileBuilder file;
  file.input("ids", {-1, -1}, 7)
      .weight("e.weight", {100, 8})
      .node("Gather", {"e.weight", "ids"}, {"y"})
      .output("y");
  EXPECT_THAT(refusal(file), HasSubstr("dim1; give them with --dim"));
  ImportOptions options;
  options.dims["dim1"] = 12;
  const auto i = import_of(file, options);
  EXPECT_EQ(to_text(infer_shapes(i.network, 4).back()), "4x12x8");
  EXPECT_EQ(i.network.nodes()[0].integer("classes"), 100);
  options.dims["other"] = 1;
  EXPECT_THAT(refusal(file, options), HasSubstr("--dim other"));
}

TEST(Import, ShapesThatAreComputed) {
  FileBuilder file;
  file.input("x", {-1, 3, 8, 8})
      .ints("zero", {0}, true)
      .ints("axis", {0})
      .ints("minus", {-1})
      .weight("w", {10, 192});
  file.node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "zero"}, {"b"})
      .node("Unsqueeze", {"b", "axis"}, {"b1"});
  file.node("Concat", {"b1", "minus"}, {"to"}, {{"axis", 0}}).node("Reshape", {"x", "to"}, {"f"});
  file.node("Gemm", {"f", "w"}, {"y"}, {{"transB", 1}}).output("y");
  EXPECT_THAT(ops_of(import_of(file).network), ElementsAre("input", "flatten", "linear"));
}

TEST(Import, FunctionsAreReadAsTheirNodes) {
  FileBuilder file(18);
  file.input("x", {2, 8}).weight("w", {8, 4});
  file.function("Block", {"a", "k"}, {"c"},
                {FileBuilder::make("MatMul", {"a", "k"}, {"m"}), FileBuilder::make("Relu", {"m"}, {"c"})});
  file.node("Block", {"x", "w"}, {"y"}, {}, "local").output("y");
  EXPECT_THAT(ops_of(import_of(file).network), ElementsAre("input", "linear", "relu"));
  FileBuilder endless(18);
  endless.input("x", {2, 8})
      .function("Loop", {"a"}, {"c"}, {FileBuilder::make("Loop", {"a"}, {"c"}, {}, "local")});
  endless.node("Loop", {"x"}, {"y"}, {}, "local").output("y");
  EXPECT_THAT(refusal(endless), HasSubstr("without end"));
}

FileBuilder unsupported_file() {
  FileBuilder file;
  file.input("x", {2, 3, 8, 8}).weight("w", {4, 3, 3, 3});
  file.node("Det", {"x"}, {"d"})
      .node("Conv", {"d", "w"}, {"c"})
      .node("Einsum", {"c"}, {"e"}, {{"equation", "ijkl->il"}});
  file.node("Foo", {"e"}, {"f"}, {}, "my.domain").node("Foo", {"f"}, {"g"}, {}, "my.domain").output("g");
  return file;
}

TEST(Import, EveryUnsupportedOpIsToldAtOnce) {
  const std::string message = refusal(unsupported_file());
  EXPECT_THAT(message, HasSubstr("Det, 1 time: n_d"));
  EXPECT_THAT(message, HasSubstr("Einsum (other than two values and a result), 1 time: n_e"));
  EXPECT_THAT(message, HasSubstr("my.domain::Foo, 2 times: n_f, n_g"));
  ImportOptions options;
  options.ignore_unsupported = true;
  const auto i = import_of(unsupported_file(), options);
  EXPECT_THAT(ops_of(i.network), ElementsAre("input", "conv2d"));
  EXPECT_EQ(i.unsupported.size(), 3u);
  EXPECT_GT(i.ignored_flops_share, 0);
  EXPECT_LT(i.ignored_flops_share, 0.2);
}

TEST(Import, BatchNormsFoldedByTheOlderExporter) {
  FileBuilder file(13);
  file.input("x", {2, 3, 8, 8}).weight("onnx::Conv_7", {4, 3, 3, 3}).weight("onnx::Conv_8", {4});
  file.node("Conv", {"x", "onnx::Conv_7", "onnx::Conv_8"}, {"y"}).output("y");
  const auto plain = import_of(file);
  EXPECT_EQ(plain.batchnorms_lost, 1);
  EXPECT_TRUE(plain.for_inference);
  EXPECT_THAT(plain.notes, testing::Contains(HasSubstr("--restore-batchnorm")));
  EXPECT_THAT(plain.notes, testing::Contains(HasSubstr("torch.onnx.export(")));
  ImportOptions options;
  options.restore_batchnorm = true;
  const auto restored = import_of(file, options);
  EXPECT_THAT(ops_of(restored.network), ElementsAre("input", "conv2d", "batch_norm"));
  EXPECT_FALSE(restored.network.nodes()[1].flag("bias"));
}

TEST(Import, HostileFilesAreRefused) {
  for (const std::string& bytes : {std::string(), std::string("PK\3\4 a zip"), std::string(1000, '\xff'),
                                   std::string("\x3a\xff\xff\xff\xff\x0f", 6)}) {
    EXPECT_THROW(import_onnx(bytes.data(), bytes.size(), "n", "bad.onnx"), Error);
  }
  const std::string good = attention_file(17).output("s1").str();
  for (std::size_t cut = 0; cut < good.size(); cut += 7) {
    EXPECT_THROW(import_onnx(good.data(), cut, "n", "bad.onnx"), Error) << cut;
  }
  EXPECT_THAT(refusal(attention_file(6).output("s1")), HasSubstr("opset 6 is not supported"));
  EXPECT_THAT(refusal(attention_file(22).output("s1")), HasSubstr("opset 22 is not supported"));
  // A tensor that nobody could hold.
  FileBuilder huge;
  huge.input("x", {2, 8})
      .ints("to", {1LL << 40, 1LL << 40, -1})
      .node("Expand", {"x", "to"}, {"y"})
      .output("y");
  EXPECT_FALSE(refusal(huge).empty());
  FileBuilder wide;
  wide.input("x", {2, 8}).weight("w", {8, 1LL << 60}).node("MatMul", {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(refusal(wide), HasSubstr("out_features"));
}

TEST(Import, MissingFilesAreTold) {
  EXPECT_THROW(import_onnx("/nonexistent/net.onnx"), Error);
  EXPECT_EQ(onnx_batch("/nonexistent/net.onnx"), std::nullopt);
}

}  // namespace
}  // namespace ampere

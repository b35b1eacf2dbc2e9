// The shipped graphs (tests/data/onnx) against what is published about their architectures.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "import/import.h"
#include "layers/parse.h"
#include "network/cost.h"
#include "network/network_json.h"

namespace ampere {
namespace {

// Parameters as torchvision and Hugging Face list them (tied weights once; GoogLeNet without its auxiliary
// heads). FLOPs in the convention of fvcore and of torchvision's tables: one multiply-add of a convolution, a
// linear layer or an attention product counts as one, all else as none, for one sample. Networks that are not
// published have the arithmetic of their layers.
struct Published {
  const char* name;
  double parameters;
  double gmacs;
};
const std::vector<Published>& published() {
  static const std::vector<Published> table = {
      {"alexnet", 61100840, 0.714},
      {"bert_base_cls", 109483778, 11.174},  // 12 (12 E^2 L + 2 L^2 E) + E^2 + 2 E, E = 768, L = 128
      {"cnn5", 302986, 0},
      {"convnext_tiny", 28589128, 4.456},
      {"densenet121", 7978856, 2.834},
      {"efficientnet_b0", 5288548, 0.386},
      {"googlenet", 6624904, 1.498},
      {"gpt2_lm", 124439808, 16.114},  // the same layers, and L E 50257 for the head
      {"har_cnn", 139014, 0},
      {"lenet5", 61706, 0.000416},
      {"lstm_text", 1562628, 0},
      {"mobilenet_v2", 3504872, 0.301},
      {"mobilenet_v3_small", 2542856, 0.057},
      {"resnet18", 11689512, 1.814},
      {"resnet34", 21797672, 3.664},
      {"resnet50", 25557032, 4.089},
      {"resnext50_32x4d", 25028904, 4.23},
      {"squeezenet1_1", 1235496, 0.349},
      {"swin_t", 28288354, 4.491},
      {"transformer_text", 4440068, 0},
      {"vgg11", 132863336, 7.609},
      {"vit_b_16", 86567656, 17.564},
  };
  return table;
}

std::string path_of(const std::string& name, const std::string& how) {
  return std::string(AMPERE_TEST_GRAPHS) + "/" + name + "." + how + ".onnx";
}

Imported imported(const std::string& name, const std::string& how, bool restore = true) {
  ImportOptions options;
  options.restore_batchnorm = restore && how == "dynamo";
  return import_onnx(path_of(name, how), options);
}

// Counted here from shapes alone, apart from network/cost.cc.
double multiply_adds(const Network& network) {
  const std::vector<Tensor> shapes = infer_shapes(network, 1);
  double total = 0;
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    const Node& n = network.nodes()[i];
    if (n.inputs.empty()) continue;
    const Tensor& in = shapes[static_cast<std::size_t>(n.inputs[0])];
    const auto out = static_cast<double>(shapes[i].elements());
    if (n.op == Op::kConv1d || n.op == Op::kConv2d) {
      double taps = static_cast<double>(in.dims[1]) / static_cast<double>(groups_of(n, in.dims[1]));
      for (std::int64_t k : spread(n, "kernel", in.dims.size() - 2)) taps *= static_cast<double>(k);
      total += out * taps;
    } else if (n.op == Op::kLinear) {
      total += out * static_cast<double>(in.dims.back());
    } else if (n.op == Op::kAttentionCore) {
      const Tensor& keys = shapes[static_cast<std::size_t>(n.inputs[n.inputs.size() > 1 ? 1 : 0])];
      total += 2 * out * static_cast<double>(keys.dims[keys.dims.size() - 2]);
    }
  }
  return total;
}

class Graphs : public testing::TestWithParam<Published> {};

TEST_P(Graphs, HavePublishedParametersAndFlops) {
  const Published& p = GetParam();
  for (const char* how : {"train17", "dynamo"}) {
    if (!std::filesystem::exists(path_of(p.name, how))) continue;
    const Imported i = imported(p.name, how);
    EXPECT_EQ(network_cost(i.network, 1).parameters, p.parameters) << how;
    const double gmacs = multiply_adds(i.network) / 1e9;
    if (p.gmacs > 0) {
      EXPECT_NEAR(gmacs, p.gmacs, std::max(0.0006, 0.002 * p.gmacs)) << how;
    }
    EXPECT_TRUE(i.unsupported.empty());
  }
}

// Ops with their attributes, dropout and stochastic depth left out: an export for inference has none.
std::multiset<std::string> trained_ops(const Network& network) {
  std::multiset<std::string> out;
  for (const Node& n : network.nodes()) {
    if (n.op == Op::kDropout || n.op == Op::kDropPath || n.op == Op::kInput) continue;
    std::string text = name_of(n.op);
    for (const AttrSpec& spec : spec_of(n.op).attrs) {
      const AttrValue& v = n.attrs.at(spec.name);
      if (v == spec.fallback || std::string(spec.name) == "dropout") continue;
      text +=
          std::string(" ") + spec.name + "=" + std::visit([](const auto& x) { return Json(x).dump(); }, v);
    }
    out.insert(text);
  }
  return out;
}

TEST_P(Graphs, AreTheSameForTrainingAndForInference) {
  const std::string name = GetParam().name;
  if (!std::filesystem::exists(path_of(name, "train17"))) return;  // GPT-2 was exported one way only
  const Imported training = imported(name, "train17"), inference = imported(name, "dynamo");
  EXPECT_EQ(trained_ops(training.network), trained_ops(inference.network));
  EXPECT_FALSE(training.for_inference);
  EXPECT_TRUE(inference.for_inference);
  EXPECT_EQ(training.batch, inference.batch);
  if (inference.batchnorms_lost == 0) return;
  // Without restoring, a batch norm's two weights per channel are a bias, or nothing where that is zero.
  const double lost = network_cost(training.network, 1).parameters -
                      network_cost(imported(name, "dynamo", false).network, 1).parameters;
  EXPECT_GT(lost, 0);
}

// Every layer can be built and trained alone, whatever the batch.
TEST_P(Graphs, FallIntoLayersThatCanBeBuiltAlone) {
  for (const char* how : {"train17", "dynamo"}) {
    if (!std::filesystem::exists(path_of(GetParam().name, how))) continue;
    const Network network = imported(GetParam().name, how).network;
    double parameters = 0;
    for (const Layer& layer : parse_layers(network, 3)) {
      const Cost alone = network_cost(build_layer(layer.kind, layer.channels), 3);
      EXPECT_EQ(alone.parameters, layer.cost.parameters) << layer.key();
      EXPECT_EQ(alone.forward_flops, layer.cost.forward_flops) << layer.key();
      parameters += layer.cost.parameters;
    }
    EXPECT_EQ(parameters, GetParam().parameters) << how;
    const Network again = network_from_json(network_to_json(network), "again");
    EXPECT_EQ(network_to_json(again), network_to_json(network));
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, Graphs, testing::ValuesIn(published()),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(GraphsOnDisk, AreAllInTheTable) {
  std::set<std::string> known;
  for (const Published& p : published()) known.insert(p.name);
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(AMPERE_TEST_GRAPHS)) {
    if (entry.path().extension() != ".onnx") continue;
    const std::string file = entry.path().filename().string();
    EXPECT_EQ(known.count(file.substr(0, file.find('.'))), 1u) << file;
    ++count;
  }
  EXPECT_EQ(count, 43);
}

}  // namespace
}  // namespace ampere

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "network/zoo.h"
#include "variants/paper_variants.h"
#include "variants/variant.h"

namespace ampere {
namespace {

int weighted(const Network& network) {
  int count = 0;
  for (const Node& node : network.nodes()) count += spec_of(node.op).op_class == OpClass::kWeighted;
  return count;
}

TEST(SplitProbe, IsTheLayerAloneWithItsRole) {
  for (const ZooEntry& entry : zoo()) {
    for (const Layer& layer : parse_layers(build(parse_zoo(entry.name)), 2)) {
      const Variant probe = layer_alone(layer.kind, layer.role, layer.channels);
      EXPECT_NO_THROW(infer_shapes(probe.network, 2)) << layer.key();
      EXPECT_LE(weighted(probe.network), 1);
      EXPECT_EQ(probe.loss, layer.role == LayerRole::kOutput);
      EXPECT_EQ(probe.input_grad, layer.role != LayerRole::kInput);
    }
  }
}

TEST(PaperVariants, HaveOneTwoAndThreeLayers) {
  for (const ZooEntry& entry : zoo()) {
    for (const PaperSurface& s : paper_surfaces(parse_layers(build(parse_zoo(entry.name)), 2))) {
      for (const Channels c :
           {Channels{s.domain.in.min, s.domain.out.min}, Channels{s.domain.in.max, s.domain.out.max}}) {
        const Variant variant = paper_variant(s, c);
        EXPECT_NO_THROW(infer_shapes(variant.network, 2)) << s.key();
        const int own = spec_of(s.kind.ops[s.kind.head].op).op_class == OpClass::kWeighted ? 1 : 0;
        const int around = s.role == LayerRole::kHidden ? 2 : s.role == LayerRole::kInput ? 1 : 0;
        EXPECT_EQ(weighted(variant.network), own + around) << entry.name << " " << s.key();
        EXPECT_TRUE(variant.loss);
        EXPECT_FALSE(variant.input_grad);
      }
    }
  }
}

TEST(PaperVariants, SubtractedNeighboursComeFirstAndCoverTheRange) {
  for (const char* model : {"lenet5", "cnn5", "har", "lstm", "transformer", "resnet18-cifar"}) {
    std::map<std::string, Domain> known;
    for (const PaperSurface& s : paper_surfaces(parse_layers(build(parse_zoo(model)), 2))) {
      const Channels high{s.domain.in.max, s.domain.out.max};
      if (!s.output_key.empty()) {
        ASSERT_TRUE(known.count(s.output_key)) << model << " " << s.key() << " needs " << s.output_key;
        EXPECT_TRUE(known[s.output_key].in.contains(channels_read_by_output(s, high)));
      }
      if (!s.input_key.empty()) {
        ASSERT_TRUE(known.count(s.input_key)) << model << " " << s.key() << " needs " << s.input_key;
        EXPECT_TRUE(known[s.input_key].out.contains(high.in));
      }
      known[s.key()] = s.domain;
    }
  }
}

TEST(PaperVariants, EveryLayerHasASurface) {
  const auto layers = parse_layers(build(parse_zoo("cnn5")), 10);
  std::map<std::string, int> by_layer;
  for (const PaperSurface& s : paper_surfaces(layers)) by_layer[s.layer_key()] += 1;
  for (const Layer& layer : layers) EXPECT_EQ(by_layer[layer.key()], 1) << layer.key();
}

}  // namespace
}  // namespace ampere

#include "network/zoo_resnet.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;

struct Depth {
  const char* name;
  Ints blocks;
  bool bottleneck;
};

const std::vector<Depth>& depths() {
  static const std::vector<Depth> table = {{"resnet18", {2, 2, 2, 2}, false},
                                           {"resnet34", {3, 4, 6, 3}, false},
                                           {"resnet50", {3, 4, 6, 3}, true},
                                           {"resnet101", {3, 4, 23, 3}, true},
                                           {"resnet152", {3, 8, 36, 3}, true}};
  return table;
}

class ResNetBuilder {
 public:
  explicit ResNetBuilder(std::string name) : network_(std::move(name)) {}

  Network build(const Depth& depth, bool cifar, const ZooValues& v) {
    const std::int64_t size = v.at("size");
    last_ = network_.add(Op::kInput, {}, {{"shape", Ints{v.at("in"), size, size}}}, "input");
    if (cifar) {
      conv_bn(v.at("w1"), 3, 1, 1);
      relu();
    } else {
      conv_bn(v.at("w1"), 7, 2, 3);
      relu();
      last_ = network_.add(
          Op::kMaxPool, {last_},
          {{"kernel", std::int64_t{3}}, {"stride", std::int64_t{2}}, {"padding", std::int64_t{1}}});
    }
    channels_ = v.at("w1");
    const char* widths[] = {"w1", "w2", "w3", "w4"};
    for (std::size_t stage = 0; stage < 4; ++stage) {
      for (std::int64_t b = 0; b < depth.blocks[stage]; ++b) {
        block(v.at(widths[stage]), stage > 0 && b == 0 ? 2 : 1, depth.bottleneck);
      }
    }
    last_ = network_.add(Op::kAdaptiveAvgPool, {last_}, {{"output", std::int64_t{1}}});
    last_ = network_.add(Op::kFlatten, {last_});
    network_.add(Op::kLinear, {last_}, {{"out_features", v.at("classes")}}, "fc");
    return std::move(network_);
  }

 private:
  // Two 3x3 convolutions, or 1x1 - 3x3 - 1x1 with four times the width at the end (He et al. 2016;
  // the stride sits on the 3x3, as torchvision has it).
  void block(std::int64_t width, std::int64_t stride, bool bottleneck) {
    const int entry = last_;
    const std::int64_t out = bottleneck ? 4 * width : width;
    if (bottleneck) {
      conv_bn(width, 1, 1, 0);
      relu();
    }
    conv_bn(width, 3, stride, 1);
    relu();
    bottleneck ? conv_bn(out, 1, 1, 0) : conv_bn(out, 3, 1, 1);
    const int body = last_;
    last_ = entry;
    if (stride != 1 || channels_ != out) conv_bn(out, 1, stride, 0);
    last_ = network_.add(Op::kAdd, {body, last_});
    relu();
    channels_ = out;
  }

  void conv_bn(std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    last_ = network_.add(Op::kConv2d, {last_},
                         {{"out_channels", out},
                          {"kernel", kernel},
                          {"stride", stride},
                          {"padding", padding},
                          {"bias", false}});
    last_ = network_.add(Op::kBatchNorm, {last_});
  }
  void relu() { last_ = network_.add(Op::kRelu, {last_}); }

  Network network_;
  int last_ = 0;
  std::int64_t channels_ = 0;
};

}  // namespace

std::vector<ZooEntry> resnet_entries() {
  std::vector<ZooEntry> entries;
  for (const bool cifar : {false, true}) {
    for (const Depth& depth : depths()) {
      auto fixed = [](const char* name, std::int64_t value) {
        return ZooParameter{name, value, 1, 1, false};
      };
      ZooEntry entry;
      entry.name = std::string(depth.name) + (cifar ? "-cifar" : "");
      entry.family = cifar ? "resnet-cifar" : "resnet";
      entry.description =
          cifar ? "ResNet with the 3x3 stem for 32x32 images" : "ResNet with the 7x7 stem for 224x224 images";
      entry.parameters = {{"w1", 64},
                          {"w2", 128},
                          {"w3", 256},
                          {"w4", 512},
                          fixed("in", 3),
                          fixed("size", cifar ? 32 : 224),
                          fixed("classes", cifar ? 10 : 1000)};
      entry.build = [depth, cifar, name = entry.name](const ZooValues& v) {
        return ResNetBuilder(name).build(depth, cifar, v);
      };
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

}  // namespace ampere

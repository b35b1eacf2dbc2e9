#include "network/zoo_mobilenet.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;

// As many blocks of a width, the first with that stride (Sandler et al. 2018, table 2).
struct Stage {
  const char* width;
  std::int64_t blocks, stride;
};
// Times the channels of a block between its two narrow ends.
constexpr std::int64_t kWider = 6;
constexpr Stage kStages[] = {{"w1", 1, 1}, {"w2", 2, 2}, {"w3", 3, 2}, {"w4", 4, 2},
                             {"w5", 3, 1}, {"w6", 3, 2}, {"w7", 1, 1}};

class MobileNetBuilder {
 public:
  Network build(const ZooValues& v) {
    const std::int64_t size = v.at("size");
    last_ = network_.add(Op::kInput, {}, {{"shape", Ints{v.at("in"), size, size}}}, "input");
    channels_ = 2 * v.at("w1");
    conv_bn(channels_, {.kernel = 3, .stride = 2});
    relu6();
    for (const Stage& stage : kStages) {
      for (std::int64_t b = 0; b < stage.blocks; ++b)
        block(v.at(stage.width), b == 0 ? stage.stride : 1, &stage == kStages ? 1 : kWider);
    }
    conv_bn(4 * v.at("w7"), {});
    relu6();
    last_ = network_.add(Op::kAdaptiveAvgPool, {last_}, {{"output", std::int64_t{1}}});
    last_ = network_.add(Op::kFlatten, {last_});
    last_ = network_.add(Op::kDropout, {last_}, {{"p", 0.2}});
    network_.add(Op::kLinear, {last_}, {{"out_features", v.at("classes")}}, "fc");
    return std::move(network_);
  }

 private:
  struct Convolution {
    std::int64_t kernel = 1, stride = 1;
    bool depthwise = false;
  };

  void block(std::int64_t out, std::int64_t stride, std::int64_t wider) {
    const int entry = last_;
    const std::int64_t inner = wider * channels_;
    if (wider > 1) {
      conv_bn(inner, {});
      relu6();
    }
    conv_bn(inner, {.kernel = 3, .stride = stride, .depthwise = true});
    relu6();
    conv_bn(out, {});
    if (stride == 1 && out == channels_) last_ = network_.add(Op::kAdd, {last_, entry});
    channels_ = out;
  }

  void conv_bn(std::int64_t out, const Convolution& c) {
    Attrs attrs = {{"out_channels", out},
                   {"kernel", c.kernel},
                   {"stride", c.stride},
                   {"padding", c.kernel / 2},
                   {"bias", false}};
    if (c.depthwise) attrs["groups"] = std::int64_t{0};
    last_ = network_.add(Op::kConv2d, {last_}, std::move(attrs));
    last_ = network_.add(Op::kBatchNorm, {last_});
  }
  void relu6() { last_ = network_.add(Op::kRelu6, {last_}); }

  Network network_{"mobilenetv2"};
  int last_ = 0;
  std::int64_t channels_ = 0;
};

}  // namespace

ZooEntry mobilenet_entry() {
  const auto fixed = [](const char* name, std::int64_t value) {
    return ZooParameter{name, value, 1, 1, false};
  };
  return {"mobilenetv2",
          "mobilenet",
          "MobileNetV2: depthwise convolutions between wide and narrow layers, 224x224 images",
          {{"w1", 16},
           {"w2", 24},
           {"w3", 32},
           {"w4", 64},
           {"w5", 96},
           {"w6", 160},
           {"w7", 320},
           fixed("in", 3),
           fixed("size", 224),
           fixed("classes", 1000)},
          [](const ZooValues& v) { return MobileNetBuilder().build(v); }};
}

}  // namespace ampere

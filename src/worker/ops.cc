// What each op of a network computes in LibTorch.
#include <torch/torch.h>

#include <algorithm>

#include "base/error.h"
#include "worker/attention_module.h"
#include "worker/learned_module.h"
#include "worker/network_module.h"

namespace ampere::worker {
namespace {

using T = torch::Tensor;
using In = std::vector<T>;
using Apply = std::function<T(const In&)>;
using Ints = std::vector<std::int64_t>;

// LibTorch forbids dots in the names of modules; the number keeps names apart without them.
std::string module_name(const torch::nn::Module& owner, const Node& node) {
  std::string name = std::to_string(owner.children().size()) + "_" + node.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

// Registers a module and applies it to the one input.
template <class Holder>
Apply unary_module(torch::nn::Module& owner, const Node& node, Holder module) {
  owner.register_module(module_name(owner, node), module);
  return [module](const In& in) mutable { return module->forward(in[0]); };
}

template <class Holder>
Apply recurrent_module(torch::nn::Module& owner, const Node& node, Holder module) {
  owner.register_module(module_name(owner, node), module);
  return [module](const In& in) mutable { return std::get<0>(module->forward(in[0])); };
}

template <std::size_t Spatial, class Module, class Options>
Apply conv(torch::nn::Module& owner, const Node& node, const Tensor& in) {
  auto sized = [&](const char* attr) { return torch::ExpandingArray<Spatial>(spread(node, attr, Spatial)); };
  Options options(in.dims[1], node.integer("out_channels"), sized("kernel"));
  options.stride(sized("stride")).dilation(sized("dilation")).groups(groups_of(node, in.dims[1]));
  options.padding(sized("padding")).bias(node.flag("bias"));
  return unary_module(owner, node, Module(options));
}

template <class Module, class Options>
Apply recurrent(torch::nn::Module& owner, const Node& node, const Tensor& in) {
  Options options(in.dims.back(), node.integer("hidden_size"));
  options.num_layers(node.integer("num_layers")).bidirectional(node.flag("bidirectional"));
  options.bias(node.flag("bias")).batch_first(true);
  return recurrent_module(owner, node, Module(options));
}

Apply attention(torch::nn::Module& owner, const Node& node, const Tensor& in) {
  auto module =
      std::make_shared<AttentionModule>(in.dims.back(), node.integer("heads"), node.flag("bias"), 0.0);
  owner.register_module(module_name(owner, node), module);
  return [module](const In& x) {
    return x.size() == 1 ? module->forward(x[0], x[0], x[0]) : module->forward(x[0], x[1], x[2]);
  };
}

Apply attention_core(torch::nn::Module& owner, const Node& node, const std::vector<Tensor>& in) {
  const auto length = [](const Tensor& t) { return t.dims[t.dims.size() - 2]; };
  auto module =
      std::make_shared<AttentionCore>(node.integer("heads"), node.word("mask"), node.real("dropout"),
                                      length(in[0]), length(in[in.size() > 1 ? 1 : 0]), node.integer("rows"));
  owner.register_module(module_name(owner, node), module);
  return [module](const In& x) { return module->forward(x); };
}

Apply linear(torch::nn::Module& owner, const Node& node, const Tensor& in) {
  const std::int64_t width = in.dims.back(), out = node.integer("out_features");
  if (!node.flag("tied")) {
    return unary_module(owner, node,
                        torch::nn::Linear(torch::nn::LinearOptions(width, out).bias(node.flag("bias"))));
  }
  std::shared_ptr<torch::nn::EmbeddingImpl> table;
  for (const auto& child : owner.children()) {
    auto embedding = std::dynamic_pointer_cast<torch::nn::EmbeddingImpl>(child);
    if (!table && embedding && embedding->weight.size(0) == out && embedding->weight.size(1) == width)
      table = embedding;
  }
  return unary_module(owner, node, std::make_shared<TiedLinearModule>(table, width, out, node.flag("bias")));
}

Apply learned(torch::nn::Module& owner, const Node& node, const Tensor& in) {
  if (node.op == Op::kLearnedAdd && node.integer("rows") > 0) {
    return unary_module(owner, node,
                        std::make_shared<PositionModule>(node.integer("rows"), in.dims[1], in.dims.back()));
  }
  return unary_module(owner, node,
                      std::make_shared<LearnedModule>(learned_shape(node, in), node.op == Op::kLearnedMul));
}

// Whole samples, not single numbers, are left out.
Apply drop_path(const Node& node, const Tensor& in) {
  Ints shape(in.dims.size(), 1);
  shape[0] = -1;
  return [shape, keep = 1 - node.real("p")](const In& x) mutable {
    shape[0] = x[0].size(0);
    return x[0] * torch::empty(shape, x[0].options()).bernoulli_(keep).div_(keep);
  };
}

Apply channel_shuffle(const Node& node) {
  return [groups = node.integer("groups")](const In& x) {
    Ints whole = x[0].sizes().vec();
    Ints split = whole;
    split[1] = groups;
    split.insert(split.begin() + 2, whole[1] / groups);
    return x[0].reshape(split).transpose(1, 2).reshape(whole);
  };
}

Apply upsample(const Node& node) {
  const Ints factor = spread(node, "factor", 2);
  const bool nearest = node.word("mode") == "nearest";
  return [=](const In& x) {
    const Ints size = {x[0].size(2) * factor[0], x[0].size(3) * factor[1]};
    return nearest ? torch::upsample_nearest2d(x[0], size) : torch::upsample_bilinear2d(x[0], size, false);
  };
}

Apply conv_transpose(torch::nn::Module& owner, const Node& node, const Tensor& in) {
  auto sized = [&](const char* attr) { return torch::ExpandingArray<2>(spread(node, attr, 2)); };
  torch::nn::ConvTranspose2dOptions options(in.dims[1], node.integer("out_channels"), sized("kernel"));
  options.stride(sized("stride")).padding(sized("padding")).output_padding(sized("output_padding"));
  options.groups(node.integer("groups")).bias(node.flag("bias"));
  return unary_module(owner, node, torch::nn::ConvTranspose2d(options));
}

Apply encoder(torch::nn::Module& owner, const Node& node, const Tensor& in) {
  EncoderOptions options{in.dims.back(),
                         node.integer("heads"),
                         node.integer("feedforward"),
                         node.real("dropout"),
                         node.word("activation") == "gelu",
                         node.flag("norm_first")};
  return unary_module(owner, node, std::make_shared<EncoderModule>(options));
}

Apply batch_norm(torch::nn::Module& owner, const Node& node, const Tensor& in) {
  const auto options = torch::nn::BatchNormOptions(in.dims[1]).affine(node.flag("affine"));
  if (in.rank() == 4) return unary_module(owner, node, torch::nn::BatchNorm2d(options));
  return unary_module(owner, node, torch::nn::BatchNorm1d(options));
}

Apply layer_norm(torch::nn::Module& owner, const Node& node, const Tensor& in) {
  const Ints shape(in.dims.end() - node.integer("axes"), in.dims.end());
  const auto options = torch::nn::LayerNormOptions(shape).elementwise_affine(node.flag("affine"));
  return unary_module(owner, node, torch::nn::LayerNorm(options));
}

Apply group_norm(torch::nn::Module& owner, const Node& node, const Tensor& in) {
  const auto options =
      torch::nn::GroupNormOptions(node.integer("groups"), in.dims[1]).affine(node.flag("affine"));
  return unary_module(owner, node, torch::nn::GroupNorm(options));
}

Apply pool(const Node& node, const Tensor& in) {
  const std::size_t spatial = in.dims.size() - 2;
  const Ints kernel = spread(node, "kernel", spatial);
  const Ints stride = node.list("stride").empty() ? kernel : spread(node, "stride", spatial);
  const Ints padding = spread(node, "padding", spatial);
  const bool ceil = node.flag("ceil_mode");
  const Ints one(spatial, 1);
  if (node.op == Op::kMaxPool) {
    if (spatial == 1)
      return [=](const In& x) { return torch::max_pool1d(x[0], kernel, stride, padding, one, ceil); };
    return [=](const In& x) { return torch::max_pool2d(x[0], kernel, stride, padding, one, ceil); };
  }
  if (spatial == 1)
    return [=](const In& x) { return torch::avg_pool1d(x[0], kernel, stride, padding, ceil); };
  return [=](const In& x) { return torch::avg_pool2d(x[0], kernel, stride, padding, ceil); };
}

Apply adaptive_pool(const Node& node, const Tensor& in) {
  const Ints size = spread(node, "output", in.dims.size() - 2);
  if (size.size() == 1) return [=](const In& x) { return torch::adaptive_avg_pool1d(x[0], size); };
  return [=](const In& x) { return torch::adaptive_avg_pool2d(x[0], size); };
}

Apply reshape(const Node& node, const Tensor& in) {
  Ints shape = node.list("shape");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) shape[i] = in.dims[i];
  }
  return [shape](const In& x) { return x[0].reshape(shape); };
}

Apply slice(const Node& node) {
  const std::int64_t axis = node.integer("axis"), start = node.integer("start");
  const std::int64_t end = node.integer("end"), step = node.integer("step");
  return [=](const In& x) { return x[0].slice(axis, start, end, step); };
}

Apply flatten(const Node& node, const Tensor& in) {
  const std::int64_t start = node.integer("start");
  if (start >= in.rank()) return [](const In& x) { return x[0]; };
  return [start](const In& x) { return x[0].flatten(start); };
}

T add_all(const In& x) {
  T sum = x[0] + x[1];
  for (std::size_t i = 2; i < x.size(); ++i) sum = sum + x[i];
  return sum;
}

}  // namespace

Apply make_op(const Node& node, const std::vector<Tensor>& inputs, torch::nn::Module& owner) {
  namespace nn = torch::nn;
  if (inputs.empty()) throw bad_input(describe(node) + ": computes nothing");
  const Tensor& in = inputs[0];
  switch (node.op) {
    case Op::kInput:
      break;
    case Op::kConv1d:
      return conv<1, nn::Conv1d, nn::Conv1dOptions>(owner, node, in);
    case Op::kConv2d:
      return conv<2, nn::Conv2d, nn::Conv2dOptions>(owner, node, in);
    case Op::kLinear:
      return linear(owner, node, in);
    case Op::kEmbedding:
      return unary_module(owner, node, nn::Embedding(node.integer("vocabulary"), node.integer("dim")));
    case Op::kLstm:
      return recurrent<nn::LSTM, nn::LSTMOptions>(owner, node, in);
    case Op::kGru:
      return recurrent<nn::GRU, nn::GRUOptions>(owner, node, in);
    case Op::kAttention:
      return attention(owner, node, in);
    case Op::kEncoderLayer:
      return encoder(owner, node, in);
    case Op::kBatchNorm:
      return batch_norm(owner, node, in);
    case Op::kLayerNorm:
      return layer_norm(owner, node, in);
    case Op::kGroupNorm:
      return group_norm(owner, node, in);
    case Op::kRelu:
      return [](const In& x) { return torch::relu(x[0]); };
    case Op::kRelu6:
      return [](const In& x) { return torch::relu6(x[0]); };
    case Op::kLeakyRelu:
      return [slope = node.real("slope")](const In& x) { return torch::leaky_relu(x[0], slope); };
    case Op::kElu:
      return [](const In& x) { return torch::elu(x[0]); };
    case Op::kGelu:
      return [how = node.word("approximate")](const In& x) { return torch::gelu(x[0], how); };
    case Op::kSilu:
      return [](const In& x) { return torch::silu(x[0]); };
    case Op::kHardswish:
      return [](const In& x) { return torch::hardswish(x[0]); };
    case Op::kHardsigmoid:
      return [](const In& x) { return torch::hardsigmoid(x[0]); };
    case Op::kSigmoid:
      return [](const In& x) { return torch::sigmoid(x[0]); };
    case Op::kTanh:
      return [](const In& x) { return torch::tanh(x[0]); };
    case Op::kSoftmax:
      return [axis = node.integer("axis")](const In& x) { return torch::softmax(x[0], axis); };
    case Op::kIdentity:
      return [](const In& x) { return x[0]; };
    case Op::kMaxPool:
    case Op::kAvgPool:
      return pool(node, in);
    case Op::kAdaptiveAvgPool:
      return adaptive_pool(node, in);
    case Op::kDropout:
      return [p = node.real("p")](const In& x) { return torch::dropout(x[0], p, true); };
    case Op::kAdd:
      return add_all;
    case Op::kMul:
      return [](const In& x) { return x[0] * x[1]; };
    case Op::kConcat:
      return [axis = node.integer("axis")](const In& x) { return torch::cat(x, axis); };
    case Op::kMatmul:
      return [](const In& x) { return torch::matmul(x[0], x[1]); };
    case Op::kFlatten:
      return flatten(node, in);
    case Op::kReshape:
      return reshape(node, in);
    case Op::kPermute:
      return [order = node.list("order")](const In& x) { return x[0].permute(order); };
    case Op::kSlice:
      return slice(node);
    case Op::kRoll:
      return [shifts = node.list("shifts"), axes = node.list("axes")](const In& x) {
        return torch::roll(x[0], shifts, axes);
      };
    case Op::kMean:
      return [axes = node.list("axes"), keep = node.flag("keepdim")](const In& x) {
        return x[0].mean(axes, keep);
      };
    case Op::kAttentionCore:
      return attention_core(owner, node, inputs);
    case Op::kLearnedAdd:
    case Op::kLearnedMul:
      return learned(owner, node, in);
    case Op::kClassToken:
      return unary_module(owner, node,
                          std::make_shared<ClassTokenModule>(node.integer("count"), in.dims.back()));
    case Op::kDropPath:
      return drop_path(node, in);
    case Op::kChannelShuffle:
      return channel_shuffle(node);
    case Op::kScale:
      return [](const In& x) { return x[0] * 1.0; };
    case Op::kLogSoftmax:
      return [axis = node.integer("axis")](const In& x) { return torch::log_softmax(x[0], axis); };
    case Op::kUpsample:
      return upsample(node);
    case Op::kConvTranspose2d:
      return conv_transpose(owner, node, in);
    case Op::kCalls:
      break;  // CapturedPart runs them
  }
  throw bad_input(describe(node) + ": this worker cannot train it");
}

}  // namespace ampere::worker

#include "network/op.h"

#include <algorithm>

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;

AttrSpec width(const char* name) { return {name, true, std::int64_t{0}, 1, kMaxWidth}; }
AttrSpec integer(const char* name, std::int64_t fallback, std::int64_t min, std::int64_t max = kMaxWidth) {
  return {name, false, fallback, min, max};
}
AttrSpec list(const char* name, Ints fallback, std::int64_t min, std::int64_t max = kMaxWidth) {
  return {name, false, std::move(fallback), min, max};
}
AttrSpec required_list(const char* name, std::int64_t min, std::int64_t max = kMaxWidth) {
  return {name, true, Ints{}, min, max};
}
AttrSpec flag(const char* name, bool fallback) { return {name, false, fallback, 0, 0}; }
AttrSpec real(const char* name, double fallback) { return {name, false, fallback, 0, 0}; }
AttrSpec word(const char* name, const char* fallback) { return {name, false, std::string(fallback), 0, 0}; }

// groups = 0 means one group per channel (depthwise), whatever the number of channels is.
std::vector<AttrSpec> conv_attrs() {
  return {width("out_channels"),   required_list("kernel", 1), list("stride", {1}, 1),
          list("padding", {0}, 0), list("dilation", {1}, 1),   integer("groups", 1, 0),
          flag("bias", true)};
}
std::vector<AttrSpec> recurrent_attrs() {
  return {width("hidden_size"), integer("num_layers", 1, 1, 64), flag("bidirectional", false),
          flag("bias", true)};
}
// An empty stride means: as large as the kernel.
std::vector<AttrSpec> pool_attrs() {
  return {required_list("kernel", 1), list("stride", {}, 1), list("padding", {0}, 0),
          flag("ceil_mode", false)};
}

std::vector<OpSpec> make_table() {
  using C = OpClass;
  constexpr std::int64_t kAnyAxis = 16;
  constexpr int kMany = 1024;
  return {
      {Op::kInput,
       "input",
       C::kSource,
       0,
       0,
       {required_list("shape", 1), word("dtype", "float"), integer("classes", 0, 0)}},
      {Op::kConv1d, "conv1d", C::kWeighted, 1, 1, conv_attrs()},
      {Op::kConv2d, "conv2d", C::kWeighted, 1, 1, conv_attrs()},
      {Op::kLinear,
       "linear",
       C::kWeighted,
       1,
       1,
       {width("out_features"), flag("bias", true), flag("tied", false)}},
      {Op::kEmbedding, "embedding", C::kWeighted, 1, 1, {width("vocabulary"), width("dim")}},
      {Op::kLstm, "lstm", C::kWeighted, 1, 1, recurrent_attrs()},
      {Op::kGru, "gru", C::kWeighted, 1, 1, recurrent_attrs()},
      {Op::kAttention, "attention", C::kWeighted, 1, 3, {width("heads"), flag("bias", true)}},
      {Op::kEncoderLayer,
       "encoder_layer",
       C::kWeighted,
       1,
       1,
       {width("heads"), width("feedforward"), real("dropout", 0.1), word("activation", "relu"),
        flag("norm_first", false)}},
      {Op::kBatchNorm, "batch_norm", C::kNorm, 1, 1, {flag("affine", true)}},
      {Op::kLayerNorm, "layer_norm", C::kNorm, 1, 1, {integer("axes", 1, 1, 8), flag("affine", true)}},
      {Op::kGroupNorm, "group_norm", C::kNorm, 1, 1, {width("groups"), flag("affine", true)}},
      {Op::kRelu, "relu", C::kWeightless, 1, 1, {}},
      {Op::kRelu6, "relu6", C::kWeightless, 1, 1, {}},
      {Op::kLeakyRelu, "leaky_relu", C::kWeightless, 1, 1, {real("slope", 0.01)}},
      {Op::kElu, "elu", C::kWeightless, 1, 1, {}},
      {Op::kGelu, "gelu", C::kWeightless, 1, 1, {word("approximate", "none")}},
      {Op::kSilu, "silu", C::kWeightless, 1, 1, {}},
      {Op::kHardswish, "hardswish", C::kWeightless, 1, 1, {}},
      {Op::kHardsigmoid, "hardsigmoid", C::kWeightless, 1, 1, {}},
      {Op::kSigmoid, "sigmoid", C::kWeightless, 1, 1, {}},
      {Op::kTanh, "tanh", C::kWeightless, 1, 1, {}},
      {Op::kSoftmax, "softmax", C::kWeightless, 1, 1, {integer("axis", -1, -kAnyAxis, kAnyAxis)}},
      {Op::kIdentity, "identity", C::kWeightless, 1, 1, {}},
      {Op::kMaxPool, "max_pool", C::kWeightless, 1, 1, pool_attrs()},
      {Op::kAvgPool, "avg_pool", C::kWeightless, 1, 1, pool_attrs()},
      {Op::kAdaptiveAvgPool, "adaptive_avg_pool", C::kWeightless, 1, 1, {required_list("output", 1)}},
      {Op::kDropout, "dropout", C::kWeightless, 1, 1, {real("p", 0.5)}},
      {Op::kAdd, "add", C::kJoin, 2, kMany, {}},
      {Op::kMul, "mul", C::kJoin, 2, 2, {}},
      {Op::kConcat, "concat", C::kJoin, 2, kMany, {integer("axis", 1, -kAnyAxis, kAnyAxis)}},
      {Op::kMatmul, "matmul", C::kJoin, 2, 2, {}},
      {Op::kFlatten, "flatten", C::kWeightless, 1, 1, {integer("start", 1, 1, kAnyAxis)}},
      // 0 keeps the dimension at that place, -1 takes what is left; the first entry is the batch.
      {Op::kReshape, "reshape", C::kWeightless, 1, 1, {required_list("shape", -1)}},
      {Op::kPermute, "permute", C::kWeightless, 1, 1, {required_list("order", 0, kAnyAxis)}},
      {Op::kSlice,
       "slice",
       C::kWeightless,
       1,
       1,
       {integer("axis", 1, 1, kAnyAxis), integer("start", 0, -kMaxWidth),
        integer("end", kMaxWidth, -kMaxWidth), integer("step", 1, 1)}},
      {Op::kMean,
       "mean",
       C::kWeightless,
       1,
       1,
       {required_list("axes", -kAnyAxis, kAnyAxis), flag("keepdim", false)}},
      // softmax(q k' / sqrt(d)) v in heads; one input holds query, key and value side by side. With "rows",
      // every head adds a trained bias to its logits, looked up in a table of so many rows (relative
      // positions).
      {Op::kAttentionCore,
       "attention_core",
       C::kJoin,
       1,
       3,
       {width("heads"), word("mask", "none"), real("dropout", 0.0), integer("rows", 0, 0)}},
      // A trained tensor added to, or multiplied with, every sample. "shape" is of its last dimensions, 0: as
      // large as the input's. With "rows" it is looked up in a table of so many rows, as position embeddings.
      {Op::kLearnedAdd, "learned_add", C::kNorm, 1, 1, {list("shape", {0}, 0), integer("rows", 0, 0)}},
      {Op::kLearnedMul, "learned_mul", C::kNorm, 1, 1, {list("shape", {0}, 0)}},
      {Op::kClassToken, "class_token", C::kNorm, 1, 1, {integer("count", 1, 1)}},
      {Op::kDropPath, "drop_path", C::kWeightless, 1, 1, {real("p", 0.1)}},
      {Op::kChannelShuffle, "channel_shuffle", C::kWeightless, 1, 1, {width("groups")}},
      {Op::kScale, "scale", C::kWeightless, 1, 1, {}},
      {Op::kLogSoftmax, "log_softmax", C::kWeightless, 1, 1, {integer("axis", -1, -kAnyAxis, kAnyAxis)}},
      {Op::kUpsample,
       "upsample",
       C::kWeightless,
       1,
       1,
       {required_list("factor", 1, 1024), word("mode", "nearest")}},
      {Op::kConvTranspose2d,
       "conv_transpose2d",
       C::kWeighted,
       1,
       1,
       {width("out_channels"), required_list("kernel", 1), list("stride", {1}, 1), list("padding", {0}, 0),
        list("output_padding", {0}, 0), integer("groups", 1, 1), flag("bias", true)}},
      // Moves elements along axes; what leaves at one end comes in at the other.
      {Op::kRoll,
       "roll",
       C::kWeightless,
       1,
       1,
       {required_list("shifts", -kMaxWidth), required_list("axes", 1, kAnyAxis)}},
      // A part of a captured training step: "calls" is the text of a JSON object that holds every aten call
      // of its forward and backward passes (docs/capture.md). Layers of this op have nothing that varies.
      {Op::kCalls,
       "calls",
       C::kWeighted,
       1,
       1,
       {{"calls", true, std::string(), 0, 0},
        word("label", "calls"),
        integer("batch", 0, 0),
        integer("flops", 0, 0, INT64_MAX),
        integer("bytes", 0, 0, INT64_MAX),
        integer("parameters", 0, 0, INT64_MAX),
        list("host", {}, 0)}},
  };
}

}  // namespace

const std::vector<OpSpec>& all_ops() {
  static const std::vector<OpSpec> table = make_table();
  return table;
}

const OpSpec& spec_of(Op op) { return all_ops()[static_cast<std::size_t>(op)]; }

const OpSpec* find_op(const std::string& name) {
  const auto& ops = all_ops();
  auto it = std::find_if(ops.begin(), ops.end(), [&](const OpSpec& s) { return name == s.name; });
  return it == ops.end() ? nullptr : &*it;
}

}  // namespace ampere

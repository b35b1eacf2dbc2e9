// The operations a network may contain, and which attributes each one takes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace ampere {

enum class Op {
  kInput,
  kConv1d,
  kConv2d,
  kLinear,
  kEmbedding,
  kLstm,
  kGru,
  kAttention,
  kEncoderLayer,
  kBatchNorm,
  kLayerNorm,
  kGroupNorm,
  kRelu,
  kRelu6,
  kLeakyRelu,
  kElu,
  kGelu,
  kSilu,
  kHardswish,
  kHardsigmoid,
  kSigmoid,
  kTanh,
  kSoftmax,
  kIdentity,
  kMaxPool,
  kAvgPool,
  kAdaptiveAvgPool,
  kDropout,
  kAdd,
  kMul,
  kConcat,
  kMatmul,
  kFlatten,
  kReshape,
  kPermute,
  kSlice,
  kMean,
  kAttentionCore,
  kLearnedAdd,
  kLearnedMul,
  kClassToken,
  kDropPath,
  kChannelShuffle,
  kScale,
  kLogSoftmax,
  kUpsample,
  kConvTranspose2d,
  kRoll,
  kCalls,
};

using AttrValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>>;
using Attrs = std::map<std::string, AttrValue>;

// One attribute an op understands. The alternative held by `fallback` is the attribute's type; for
// lists, a single whole number in a file stands for a list of that number.
struct AttrSpec {
  const char* name;
  bool required;
  AttrValue fallback;
  std::int64_t min;  // of each whole number, inclusive
  std::int64_t max;
};

enum class OpClass {
  kSource,      // network input
  kWeighted,    // starts a layer
  kNorm,        // has weights, but belongs to the layer before it
  kWeightless,  // belongs to the layer before it
  kJoin,        // two or more data inputs: a layer of its own
};

struct OpSpec {
  Op op;
  const char* name;
  OpClass op_class;
  int min_inputs;
  int max_inputs;
  std::vector<AttrSpec> attrs;
};

// Largest channel count, kernel size and the like that a network may ask for.
inline constexpr std::int64_t kMaxWidth = std::int64_t{1} << 24;

const OpSpec& spec_of(Op op);
const std::vector<OpSpec>& all_ops();
// Null when no op has that name.
const OpSpec* find_op(const std::string& name);
inline const char* name_of(Op op) { return spec_of(op).name; }

}  // namespace ampere

#include "layers/layer_kind.h"

#include <algorithm>
#include <map>

#include "base/digest.h"
#include "base/error.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;

std::string joined(const Ints& values, const char* between) {
  std::string text;
  for (std::int64_t v : values) text += (text.empty() ? "" : between) + std::to_string(v);
  return text;
}

// Short names where the op's own would make the word long.
std::string short_name(Op op) {
  static const std::map<Op, std::string> names = {{Op::kConv1d, "conv"},
                                                  {Op::kConv2d, "conv"},
                                                  {Op::kBatchNorm, "bn"},
                                                  {Op::kLayerNorm, "ln"},
                                                  {Op::kGroupNorm, "gn"},
                                                  {Op::kMaxPool, "maxpool"},
                                                  {Op::kAvgPool, "avgpool"},
                                                  {Op::kAdaptiveAvgPool, "adaptive"},
                                                  {Op::kEncoderLayer, "encoder"},
                                                  {Op::kHardswish, "hswish"},
                                                  {Op::kHardsigmoid, "hsigmoid"},
                                                  {Op::kLeakyRelu, "lrelu"},
                                                  {Op::kAttentionCore, "attn"},
                                                  {Op::kLearnedAdd, "ladd"},
                                                  {Op::kLearnedMul, "lmul"},
                                                  {Op::kClassToken, "cls"},
                                                  {Op::kChannelShuffle, "shuffle"},
                                                  {Op::kDropPath, "droppath"},
                                                  {Op::kConvTranspose2d, "tconv"}};
  auto it = names.find(op);
  return it == names.end() ? name_of(op) : it->second;
}

// One letter or two per attribute; the empty code prints the value alone.
std::string code(const std::string& attr) {
  static const std::map<std::string, std::string> codes = {
      {"kernel", ""},       {"output", ""},  {"stride", "s"},   {"padding", "p"},
      {"dilation", "d"},    {"groups", "g"}, {"heads", "h"},    {"num_layers", "n"},
      {"axis", "a"},        {"axes", "a"},   {"start", "from"}, {"end", "to"},
      {"step", "by"},       {"shape", "to"}, {"order", "o"},    {"vocabulary", "v"},
      {"feedforward", "f"}, {"p", "p"},      {"dropout", "p"},  {"slope", "l"},
      {"rows", "r"},        {"count", "n"},  {"factor", "x"},   {"output_padding", "op"},
      {"shifts", "by"}};
  auto it = codes.find(attr);
  return it == codes.end() ? attr : it->second;
}

std::string value_text(const std::string& attr, const AttrValue& value) {
  if (auto* i = std::get_if<std::int64_t>(&value)) return code(attr) + std::to_string(*i);
  if (auto* r = std::get_if<double>(&value)) {
    std::string digits = std::to_string(*r);
    digits.erase(digits.find_last_not_of('0') + 1);
    return code(attr) + digits;
  }
  if (auto* b = std::get_if<bool>(&value)) return *b ? attr : "no" + attr;
  if (auto* s = std::get_if<std::string>(&value)) return *s;
  Ints list = std::get<Ints>(value);
  // One number stands for all directions: a 1-D kernel of 5 prints "5", a square one "3x3".
  return code(attr) + joined(list, "x");
}

// The op with everything that is not its default; the open width stays out of it.
std::string op_word(const LayerKind& kind, std::size_t index) {
  const Node& node = kind.ops[index];
  std::string text = short_name(node.op);
  const char* width = width_attribute(node.op);
  for (const AttrSpec& spec : spec_of(node.op).attrs) {
    const AttrValue& value = node.attrs.at(spec.name);
    if (index == kind.head && width && std::string(width) == spec.name) {
      if (kind.feedforward_ratio > 0)
        text += "x" + std::to_string(kind.feedforward_ratio);
      else if (kind.surface == Surface::kIn)
        text += std::to_string(kind.fixed.out);
      continue;
    }
    if (!spec.required && value == spec.fallback) continue;
    if (std::string(spec.name) == "groups" && value == AttrValue(std::int64_t{0})) {
      text += "dw";
    } else if (std::string(spec.name) == "bias") {
      text += "nb";
    } else if (std::string(spec.name) == "kernel" && node.op != Op::kConv1d &&
               node.list("kernel").size() == 1 && kind.inputs[0].dims.size() == 3) {
      text += std::to_string(node.list("kernel")[0]) + "x" + std::to_string(node.list("kernel")[0]);
    } else {
      text += value_text(spec.name, value);
    }
  }
  return text;
}

std::string shape_word(const LayerKind& kind) {
  std::string text;
  for (const InputShape& input : kind.inputs) {
    Ints sizes;
    for (std::int64_t d : input.dims) {
      if (d != 0)
        sizes.push_back(d);
      else if (kind.surface == Surface::kOut || kind.surface == Surface::kPoint)
        sizes.push_back(kind.fixed.in);
    }
    std::string one = joined(sizes, "x");
    if (one.empty()) continue;
    // A sequence's open channel comes last; the mark keeps 128 steps apart from 128 positions.
    const bool sequence = input.dims.size() == 2 && input.dims[1] == 0;
    text += (text.empty() ? "" : "+") + std::string(sequence ? "L" : "") + one;
  }
  return text;
}

// A readable label, and what tells the calls of two such kinds apart.
std::string word_of_calls(const LayerKind& kind) {
  const Node& node = kind.ops[0];
  std::string host;
  for (const std::int64_t count : node.list("host")) host += "/" + std::to_string(count);
  return node.word("label") + "#" + hex_digest(node.word("calls") + host) + "b" + std::to_string(kind.batch);
}

std::string word_of_ops(const LayerKind& kind, std::size_t count) {
  if (kind.ops[0].op == Op::kCalls) return word_of_calls(kind);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    std::string one = op_word(kind, i);
    if (kind.surface == Surface::kPoint && i == kind.head && width_attribute(kind.ops[i].op))
      one += "w" + std::to_string(kind.fixed.out);
    text += (text.empty() ? "" : "-") + one;
  }
  // Three operands and more show how many there are; shapes already tell one from two.
  if (kind.ops[0].op == Op::kConcat || kind.inputs.size() > 2)
    text += "." + std::to_string(kind.inputs.size());
  return text + "@" + shape_word(kind) + "b" + std::to_string(kind.batch);
}

Ints split_evenly(std::int64_t total, std::size_t parts) {
  const auto n = static_cast<std::int64_t>(parts);
  Ints sizes(parts, total / n);
  for (std::int64_t i = 0; i < total % n; ++i) ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

bool joins_channels(const LayerKind& kind) {
  if (kind.ops[0].op != Op::kConcat) return false;
  const Ints& dims = kind.inputs[0].dims;  // without the batch
  const std::int64_t axis = kind.ops[0].integer("axis");
  const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(dims.size()) : axis - 1;
  return at >= 0 && at < static_cast<std::int64_t>(dims.size()) && dims[static_cast<std::size_t>(at)] == 0;
}

}  // namespace

const char* to_word(LayerRole role) {
  switch (role) {
    case LayerRole::kInput:
      return "input";
    case LayerRole::kHidden:
      return "hidden";
    case LayerRole::kOutput:
      return "output";
    default:
      return "only";
  }
}

const char* width_attribute(Op op) {
  switch (op) {
    case Op::kConv1d:
    case Op::kConv2d:
    case Op::kConvTranspose2d:
      return "out_channels";
    case Op::kLinear:
      return "out_features";
    case Op::kEmbedding:
      return "dim";
    case Op::kLstm:
    case Op::kGru:
      return "hidden_size";
    case Op::kEncoderLayer:
      return "feedforward";
    default:
      return nullptr;
  }
}

std::string LayerKind::word() const { return word_of_ops(*this, ops.size()); }

std::string LayerKind::first_op_word() const { return word_of_ops(*this, 1); }

bool is_captured(const LayerKind& kind) { return kind.ops.front().op == Op::kCalls; }

Network build_layer(const LayerKind& kind, Channels channels) {
  const std::string word = kind.word();
  const bool in_ok =
      (kind.surface != Surface::kOut && kind.surface != Surface::kPoint) || channels.in == kind.fixed.in;
  const bool out_ok =
      (kind.surface != Surface::kIn && kind.surface != Surface::kPoint) || channels.out == kind.fixed.out;
  if (channels.in < 1 || channels.out < 1 || !in_ok || !out_ok) {
    throw bad_input("layer " + word + " cannot have channels " + std::to_string(channels.in) + " -> " +
                    std::to_string(channels.out));
  }
  Network network(word);
  // Operands that are concatenated along the channels share them; other operands each have all of them.
  Ints share(kind.inputs.size(), channels.in);
  if (joins_channels(kind)) share = split_evenly(channels.in, kind.inputs.size());
  std::vector<int> reads;
  for (std::size_t i = 0; i < kind.inputs.size(); ++i) {
    Ints dims = kind.inputs[i].dims;
    for (std::int64_t& d : dims) {
      if (d == 0) d = share[i];
    }
    Attrs attrs = {{"shape", dims}};
    if (kind.inputs[i].dtype == DType::kInt) {
      attrs["dtype"] = std::string("int");
      attrs["classes"] = kind.inputs[i].classes;
    }
    reads.push_back(network.add(Op::kInput, {}, std::move(attrs)));
  }
  for (std::size_t i = 0; i < kind.ops.size(); ++i) {
    Attrs attrs = kind.ops[i].attrs;
    const char* width = width_attribute(kind.ops[i].op);
    if (i == kind.head && width) {
      std::int64_t value = channels.out;
      if (kind.feedforward_ratio > 0) value = kind.feedforward_ratio * channels.in;
      attrs[width] = value;
    }
    reads = {network.add(kind.ops[i].op, reads, std::move(attrs))};
  }
  return network;
}

}  // namespace ampere

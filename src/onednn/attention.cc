#include <cmath>
#include <limits>

#include "onednn/operations.h"

namespace ampere::onednn {
namespace {

// What is added to the logits of every head: (heads or 1, queries, keys); null for nothing.
using Bias = Value*;

// softmax(q k' / sqrt(d) + bias) v, of (samples, heads, length, width of a head).
Value* attend(Graph& graph, Value* q, Value* k, Value* v, Bias bias, double dropout) {
  const float scale = 1 / std::sqrt(static_cast<float>(q->dims[3]));
  Value* logits = matrix_product(graph, q, k, true, scale);
  if (bias) logits = sum(graph, logits, bias);
  Value* weights = softmax(graph, logits, 3, false);
  if (dropout > 0) weights = dropped(graph, weights, dropout, false);
  return matrix_product(graph, weights, v, false, 1);
}

Bias mask(Graph& graph, const std::string& kind, std::int64_t queries, std::int64_t keys) {
  Value* made = graph.value({1, queries, keys});
  for (std::int64_t q = 0; q < queries && kind == "causal"; ++q) {
    for (std::int64_t k = q + 1; k < keys; ++k)
      made->data.data()[q * keys + k] = -std::numeric_limits<float>::infinity();
  }
  return made;
}

// Looked up in a table that is trained, as biases by relative position are.
Bias trained_bias(Graph& graph, std::int64_t rows, std::int64_t heads, std::int64_t queries,
                  std::int64_t keys) {
  Value* table = graph.parameter({rows, heads}, 0);
  fill_normal(graph.random(), table->data.data(), table->elements(), 0.02F);
  Value* places = graph.value({queries, keys});
  for (std::int64_t i = 0; i < places->elements(); ++i) places->data.data()[i] = static_cast<float>(i % rows);
  return permuted(graph, looked_up(graph, places, table), {2, 0, 1});
}

}  // namespace

Value* attention(Graph& graph, const std::vector<Value*>& in, std::int64_t heads, bool bias, double dropout) {
  const std::int64_t width = in[0]->dims.back();
  Value* parts[3];
  if (in.size() == 1) {
    Value* all = linear(graph, in[0], 3 * width, bias);
    for (int i = 0; i < 3; ++i) parts[i] = split_heads(graph, all, i * width, width, heads);
  } else {
    for (std::size_t i = 0; i < 3; ++i)
      parts[i] = split_heads(graph, linear(graph, in[i], width, bias), 0, width, heads);
  }
  Value* out = attend(graph, parts[0], parts[1], parts[2], nullptr, dropout);
  return linear(graph, merged_heads(graph, out, in[0]->dims), width, bias);
}

Value* attention_core(Graph& graph, const Node& node, const std::vector<Value*>& in) {
  const std::int64_t heads = node.integer("heads"), rows = node.integer("rows");
  std::vector<Value*> source;
  source.reserve(in.size());
  for (Value* value : in) source.push_back(in_layout(graph, value, Layout::kRows));
  const bool packed = source.size() == 1;
  Value* parts[3];
  for (std::size_t i = 0; i < 3; ++i) {
    Value* from = source[packed ? 0 : i];
    const std::int64_t width = packed ? from->dims.back() / 3 : from->dims.back();
    parts[i] = split_heads(graph, from, packed ? static_cast<std::int64_t>(i) * width : 0, width, heads);
  }
  const std::int64_t queries = parts[0]->dims[2], keys = parts[1]->dims[2];
  Bias bias = rows > 0 ? trained_bias(graph, rows, heads, queries, keys) : nullptr;
  if (node.word("mask") != "none") {
    Bias constant = mask(graph, node.word("mask"), queries, keys);
    bias = bias ? sum(graph, bias, constant) : constant;
  }
  Dims dims = source[0]->dims;
  dims.back() = parts[2]->dims[3] * heads;
  return merged_heads(graph, attend(graph, parts[0], parts[1], parts[2], bias, node.real("dropout")), dims);
}

Value* encoder_layer(Graph& graph, const Node& node, Value* in) {
  const std::int64_t width = in->dims.back();
  const double p = node.real("dropout");
  auto maybe_drop = [&](Value* v) { return p > 0 ? dropped(graph, v, p, false) : v; };
  auto norm = [&](Value* v) { return layer_norm(graph, v, width, true); };
  auto attended = [&](Value* v) { return maybe_drop(attention(graph, {v}, node.integer("heads"), true, p)); };
  auto fed = [&](Value* v) {
    Value* inner = linear(graph, v, node.integer("feedforward"), true);
    inner = node.word("activation") == "gelu" ? gelu(graph, inner, false) : relu(graph, inner);
    return maybe_drop(linear(graph, maybe_drop(inner), width, true));
  };
  if (node.flag("norm_first")) {
    Value* x = sum(graph, in, attended(norm(in)));
    return sum(graph, x, fed(norm(x)));
  }
  Value* x = norm(sum(graph, in, attended(in)));
  return norm(sum(graph, x, fed(x)));
}

}  // namespace ampere::onednn

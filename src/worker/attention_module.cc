#include "worker/attention_module.h"

#include <torch/version.h>

#include <cmath>
#include <limits>

namespace ampere::worker {
namespace {

// softmax(q k' / sqrt(d) + mask) v, by the fused kernel where LibTorch has one. `causal` comes with a mask
// that only the spelled-out form reads.
torch::Tensor attend_heads(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                           double dropout, const torch::Tensor& mask = {}, bool causal = false) {
#if TORCH_VERSION_MAJOR >= 2
  if (causal) return at::scaled_dot_product_attention(q, k, v, {}, dropout, true);
  if (mask.defined()) return at::scaled_dot_product_attention(q, k, v, mask.to(q.scalar_type()), dropout);
  return at::scaled_dot_product_attention(q, k, v, {}, dropout);
#else
  static_cast<void>(causal);
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  torch::Tensor logits = torch::matmul(q * scale, k.transpose(-2, -1));
  if (mask.defined()) logits = logits + mask.to(logits.scalar_type());
  torch::Tensor weights = torch::softmax(logits, -1);
  if (dropout > 0) weights = torch::dropout(weights, dropout, true);
  return torch::matmul(weights, v);
#endif
}

torch::Tensor maybe_drop(const torch::Tensor& x, double p) { return p > 0 ? torch::dropout(x, p, true) : x; }

torch::Tensor in_heads(const torch::Tensor& x, std::int64_t heads) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() /= heads;
  sizes.insert(sizes.end() - 1, heads);
  return x.reshape(sizes).transpose(-3, -2);
}

torch::Tensor mask_of(const std::string& kind, std::int64_t queries, std::int64_t keys) {
  torch::Tensor mask = torch::zeros({1, 1, queries, keys});
  if (kind == "causal") {
    const torch::Tensor above = torch::ones({queries, keys}, torch::kBool).triu(1);
    mask.masked_fill_(above, -std::numeric_limits<float>::infinity());
  }
  return mask;
}

}  // namespace

AttentionCore::AttentionCore(std::int64_t heads, const std::string& mask, double dropout,
                             std::int64_t queries, std::int64_t keys, std::int64_t rows)
    : heads_(heads), causal_(mask == "causal"), dropout_(dropout), queries_(queries), keys_(keys) {
  if (mask != "none") mask_ = register_buffer("mask", mask_of(mask, queries, keys));
  if (rows == 0) return;
  table_ = register_parameter("table", torch::randn({rows, heads}) * 0.02);
  places_ = register_buffer("places", torch::arange(queries * keys).remainder(rows));
}

torch::Tensor AttentionCore::logits_mask() const {
  if (!table_.defined()) return mask_;
  const torch::Tensor bias =
      table_.index({places_}).view({queries_, keys_, heads_}).permute({2, 0, 1}).contiguous().unsqueeze(0);
  return mask_.defined() ? bias + mask_ : bias;
}

torch::Tensor AttentionCore::forward(const std::vector<torch::Tensor>& inputs) {
  std::vector<torch::Tensor> qkv = inputs;
  if (inputs.size() == 1) qkv = inputs[0].chunk(3, -1);
  const torch::Tensor heads =
      attend_heads(in_heads(qkv[0], heads_), in_heads(qkv[1], heads_), in_heads(qkv[2], heads_), dropout_,
                   logits_mask(), causal_ && !table_.defined());
  return heads.transpose(-3, -2).flatten(-2);
}

AttentionModule::AttentionModule(std::int64_t width, std::int64_t heads, bool bias, double dropout)
    : heads_(heads), dropout_(dropout), out_(torch::nn::LinearOptions(width, width).bias(bias)) {
  in_weight_ = register_parameter("in_proj_weight", torch::empty({3 * width, width}));
  torch::nn::init::xavier_uniform_(in_weight_);
  if (bias) in_bias_ = register_parameter("in_proj_bias", torch::zeros({3 * width}));
  register_module("out_proj", out_);
}

torch::Tensor AttentionModule::split_heads(const torch::Tensor& x) const {
  return x.view({x.size(0), x.size(1), heads_, x.size(2) / heads_}).transpose(1, 2);
}

torch::Tensor AttentionModule::forward(const torch::Tensor& query, const torch::Tensor& key,
                                       const torch::Tensor& value) {
  torch::Tensor q, k, v;
  if (query.is_same(key) && key.is_same(value)) {
    const auto parts = torch::linear(query, in_weight_, in_bias_).chunk(3, -1);
    q = parts[0], k = parts[1], v = parts[2];
  } else {
    const auto weights = in_weight_.chunk(3);
    const auto biases = in_bias_.defined() ? in_bias_.chunk(3) : std::vector<torch::Tensor>(3);
    q = torch::linear(query, weights[0], biases[0]);
    k = torch::linear(key, weights[1], biases[1]);
    v = torch::linear(value, weights[2], biases[2]);
  }
  const torch::Tensor heads = attend_heads(split_heads(q), split_heads(k), split_heads(v), dropout_);
  return out_(heads.transpose(1, 2).reshape({query.size(0), query.size(1), query.size(2)}));
}

EncoderModule::EncoderModule(const EncoderOptions& options)
    : options_(options),
      attention_(std::make_shared<AttentionModule>(options.width, options.heads, true, options.dropout)),
      widen_(options.width, options.feedforward),
      narrow_(options.feedforward, options.width),
      norm1_(torch::nn::LayerNormOptions({options.width})),
      norm2_(torch::nn::LayerNormOptions({options.width})) {
  register_module("self_attn", attention_);
  register_module("linear1", widen_);
  register_module("linear2", narrow_);
  register_module("norm1", norm1_);
  register_module("norm2", norm2_);
}

torch::Tensor EncoderModule::attend(const torch::Tensor& x) {
  return maybe_drop(attention_->forward(x, x, x), options_.dropout);
}

torch::Tensor EncoderModule::feed_forward(const torch::Tensor& x) {
  torch::Tensor inner = widen_(x);
  inner = options_.gelu ? torch::gelu(inner) : torch::relu(inner);
  return maybe_drop(narrow_(maybe_drop(inner, options_.dropout)), options_.dropout);
}

torch::Tensor EncoderModule::forward(const torch::Tensor& input) {
  if (options_.norm_first) {
    const torch::Tensor x = input + attend(norm1_(input));
    return x + feed_forward(norm2_(x));
  }
  const torch::Tensor x = norm1_(input + attend(input));
  return norm2_(x + feed_forward(x));
}

}  // namespace ampere::worker

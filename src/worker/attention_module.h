// Attention and the transformer's encoder layer over (batch, length, features), with the weights,
// order of operations and kernels that PyTorch's own modules use with batch_first.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

namespace ampere::worker {

// The products and the softmax of attention without any projection: softmax(q k' / sqrt(d)) v in heads.
class AttentionCore : public torch::nn::Module {
 public:
  // `mask` is "none", "causal", or "additive": a constant added to the logits of queries and keys. `rows`
  // above 0: each head also adds a trained bias, looked up in a table of so many rows.
  AttentionCore(std::int64_t heads, const std::string& mask, double dropout, std::int64_t queries,
                std::int64_t keys, std::int64_t rows = 0);
  // Query, key and value, each (batch, length, features) or (batch, windows, length, features), or one tensor
  // that holds all three side by side.
  torch::Tensor forward(const std::vector<torch::Tensor>& inputs);

 private:
  std::int64_t heads_;
  bool causal_;
  double dropout_;
  torch::Tensor logits_mask() const;

  torch::Tensor mask_;            // undefined where there is none
  torch::Tensor table_, places_;  // of the trained bias; undefined where there is none
  std::int64_t queries_, keys_;
};

class AttentionModule : public torch::nn::Module {
 public:
  // `dropout` is that of the attention weights.
  AttentionModule(std::int64_t width, std::int64_t heads, bool bias, double dropout);
  torch::Tensor forward(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value);

 private:
  torch::Tensor split_heads(const torch::Tensor& x) const;

  std::int64_t heads_;
  double dropout_;
  torch::Tensor in_weight_, in_bias_;  // query, key and value stacked, as PyTorch stores them
  torch::nn::Linear out_;
};

struct EncoderOptions {
  std::int64_t width = 0;
  std::int64_t heads = 1;
  std::int64_t feedforward = 0;
  double dropout = 0.1;
  bool gelu = false;  // else relu
  bool norm_first = false;
};

class EncoderModule : public torch::nn::Module {
 public:
  explicit EncoderModule(const EncoderOptions& options);
  torch::Tensor forward(const torch::Tensor& input);

 private:
  torch::Tensor attend(const torch::Tensor& x);
  torch::Tensor feed_forward(const torch::Tensor& x);

  EncoderOptions options_;
  std::shared_ptr<AttentionModule> attention_;
  torch::nn::Linear widen_, narrow_;
  torch::nn::LayerNorm norm1_, norm2_;
};

}  // namespace ampere::worker

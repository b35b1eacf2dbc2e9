// Trained tensors that are no layer's weights: position embeddings, layer scales, class tokens, and a linear
// layer that shares its weights with an embedding.
#pragma once

#include <torch/torch.h>

#include <vector>

namespace ampere::worker {

// Adds a trained tensor to its input, or multiplies by one.
class LearnedModule : public torch::nn::Module {
 public:
  LearnedModule(const std::vector<std::int64_t>& shape, bool multiply);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  bool multiply_;
  torch::Tensor weight_;
};

// Adds rows of a trained table, always the same ones: nn.Embedding of fixed positions.
class PositionModule : public torch::nn::Module {
 public:
  PositionModule(std::int64_t rows, std::int64_t length, std::int64_t width);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Embedding table_;
  torch::Tensor places_;
};

// Puts trained vectors before every sequence.
class ClassTokenModule : public torch::nn::Module {
 public:
  ClassTokenModule(std::int64_t count, std::int64_t width);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::Tensor token_;
};

// A linear layer whose weights are those of an embedding. Without one (a layer measured alone) it has a
// weight that gets a gradient but is left alone by the optimizer, as here somebody else updates it.
class TiedLinearModule : public torch::nn::Module {
 public:
  TiedLinearModule(std::shared_ptr<torch::nn::EmbeddingImpl> embedding, std::int64_t in, std::int64_t out,
                   bool bias);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  std::shared_ptr<torch::nn::EmbeddingImpl> embedding_;  // not a submodule: its owner has it already
  torch::Tensor weight_, bias_;
};

}  // namespace ampere::worker

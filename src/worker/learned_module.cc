#include "worker/learned_module.h"

namespace ampere::worker {

LearnedModule::LearnedModule(const std::vector<std::int64_t>& shape, bool multiply) : multiply_(multiply) {
  weight_ = register_parameter("weight", multiply ? torch::ones(shape) : torch::randn(shape) * 0.02);
}

torch::Tensor LearnedModule::forward(const torch::Tensor& x) { return multiply_ ? x * weight_ : x + weight_; }

PositionModule::PositionModule(std::int64_t rows, std::int64_t length, std::int64_t width)
    : table_(rows, width) {
  register_module("table", table_);
  places_ = register_buffer("places", torch::arange(length).remainder(rows).unsqueeze(0));
}

torch::Tensor PositionModule::forward(const torch::Tensor& x) { return x + table_(places_); }

ClassTokenModule::ClassTokenModule(std::int64_t count, std::int64_t width) {
  token_ = register_parameter("token", torch::zeros({1, count, width}));
}

torch::Tensor ClassTokenModule::forward(const torch::Tensor& x) {
  return torch::cat({token_.expand({x.size(0), -1, -1}).to(x.scalar_type()), x}, 1);
}

TiedLinearModule::TiedLinearModule(std::shared_ptr<torch::nn::EmbeddingImpl> embedding, std::int64_t in,
                                   std::int64_t out, bool bias)
    : embedding_(std::move(embedding)) {
  if (!embedding_) weight_ = register_buffer("weight", (torch::randn({out, in}) * 0.02).requires_grad_());
  if (bias) bias_ = register_parameter("bias", torch::zeros({out}));
}

torch::Tensor TiedLinearModule::forward(const torch::Tensor& x) {
  return torch::linear(x, embedding_ ? embedding_->weight : weight_, bias_);
}

}  // namespace ampere::worker

// A Network as a LibTorch module that can be trained.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <vector>

#include "network/network.h"
#include "network/shape.h"

namespace ampere::worker {

class NetworkModule : public torch::nn::Module {
 public:
  // Weights are initialised as PyTorch does by default, from the current seed. Throws
  // Error{kBadInput} where shapes do not fit.
  NetworkModule(const Network& network, std::int64_t batch);

  // One tensor for each input node, in their order; gives one for each output of the network.
  // Values that no later node reads are let go at once, as a hand-written forward pass does.
  std::vector<torch::Tensor> forward(const std::vector<torch::Tensor>& inputs);

 private:
  using Values = std::vector<torch::Tensor>;
  using Apply = std::function<torch::Tensor(const Values&)>;

  struct Step {
    Apply apply;                // empty for an input node
    std::vector<int> inputs;    // nodes it reads
    std::vector<int> finished;  // nodes that nobody reads after this one
  };

  std::vector<Step> steps_;
  std::vector<int> outputs_;
};

// What one node computes. Its weights are registered with `owner` under the node's name.
std::function<torch::Tensor(const std::vector<torch::Tensor>&)> make_op(const Node& node,
                                                                        const std::vector<Tensor>& inputs,
                                                                        torch::nn::Module& owner);

}  // namespace ampere::worker

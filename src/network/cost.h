// What a network costs on paper: floating-point operations, parameters and bytes moved.
#pragma once

#include <vector>

#include "network/network.h"
#include "network/shape.h"

namespace ampere {

// Per training iteration. One multiply-add counts as two FLOPs. Bytes are those of float32 tensors
// read or written once per pass by each op; caches are not modelled.
struct Cost {
  double forward_flops = 0;
  double backward_flops = 0;
  double update_flops = 0;
  double forward_bytes = 0;
  double backward_bytes = 0;
  double update_bytes = 0;
  double parameters = 0;        // trained weights
  double activation_bytes = 0;  // outputs kept for the backward pass

  double flops() const { return forward_flops + backward_flops + update_flops; }
  double bytes() const { return forward_bytes + backward_bytes + update_bytes; }
  Cost& operator+=(const Cost& other);
};

// Cost of one node. `input_grad`: whether the backward pass goes on below this node; false for what
// reads the network input, whose gradient nobody wants. The update is counted for plain SGD.
Cost node_cost(const Node& node, const std::vector<Tensor>& inputs, const Tensor& output, bool input_grad);

// For each node, whether the backward pass goes on into its inputs: something trained stands before it,
// or the network's own inputs want their gradient (`input_grad`).
std::vector<bool> gradient_into(const Network& network, bool input_grad = false);

// One cost per node.
std::vector<Cost> node_costs(const Network& network, std::int64_t batch, bool input_grad = false);
Cost network_cost(const Network& network, std::int64_t batch, bool input_grad = false);

}  // namespace ampere

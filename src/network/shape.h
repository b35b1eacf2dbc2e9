// Shape inference: what every node of a network puts out for a given batch size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/network.h"

namespace ampere {

enum class DType { kFloat, kInt };

struct Tensor {
  std::vector<std::int64_t> dims;  // dims[0] is the batch
  DType dtype = DType::kFloat;

  int rank() const { return static_cast<int>(dims.size()); }
  // Product of all dims; fits 2^40 for tensors that infer_shapes returned.
  std::int64_t elements() const;
};

// "10x3x28x28"
std::string to_text(const Tensor& tensor);

// One tensor per node. Throws Error{kBadInput} naming the node, what it expected and what it found;
// also when a tensor would have more than 2^40 elements.
std::vector<Tensor> infer_shapes(const Network& network, std::int64_t batch);

// The same of one node that reads these tensors.
Tensor infer_node(const Node& node, const std::vector<const Tensor*>& inputs, std::int64_t batch);

// The list attribute stretched to `count` values: one value stands for all.
std::vector<std::int64_t> spread(const Node& node, const char* attr, std::size_t count);

// Groups of a convolution that reads `in_channels`: resolves 0 (depthwise).
std::int64_t groups_of(const Node& conv, std::int64_t in_channels);

// Shape of the tensor that a learned_add or learned_mul trains: resolves 0 (as the input).
std::vector<std::int64_t> learned_shape(const Node& node, const Tensor& in);

}  // namespace ampere

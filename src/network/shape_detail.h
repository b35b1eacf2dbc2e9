// Shape rules that shape.cc shares out among files. Not for others: shape.h is.
#pragma once

#include <string>
#include <vector>

#include "network/shape.h"

namespace ampere::shape_detail {

using Dims = std::vector<std::int64_t>;

[[noreturn]] void mismatch(const Node& node, const std::string& expected, const Tensor& found);
void want_float(const Node& node, const Tensor& in);

// Of sequences: (batch, length, features).
Tensor embedding(const Node& node, const Tensor& in);
Tensor recurrent(const Node& node, const Tensor& in);
Tensor attention(const Node& node, const std::vector<const Tensor*>& in);
Tensor attention_core(const Node& node, const std::vector<const Tensor*>& in);
Tensor learned(const Node& node, const Tensor& in);
Tensor class_token(const Node& node, const Tensor& in);

}  // namespace ampere::shape_detail

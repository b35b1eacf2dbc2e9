// Attributes of ONNX nodes, and the arithmetic of shapes that they ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/onnx/onnx_model.h"

namespace ampere::onnx {

// The shape that two shapes have together. Absent where they do not fit.
std::optional<std::vector<std::int64_t>> broadcast_dims(const std::vector<std::int64_t>& a,
                                                        const std::vector<std::int64_t>& b);
// What a Reshape to `wanted` makes of `dims`. Absent where it does not fit.
std::optional<std::vector<std::int64_t>> reshaped_dims(const std::vector<std::int64_t>& dims,
                                                       const std::vector<std::int64_t>& wanted,
                                                       bool zero_is_zero);

// The values as whole numbers; absent where they are not known. Out of range ones are brought into range.
std::optional<std::vector<std::int64_t>> whole_numbers(const Constant& constant);

// An attribute, or what the op does without it.
std::int64_t int_attr(const Node& node, const char* name, std::int64_t fallback);
double real_attr(const Node& node, const char* name, double fallback);
std::string text_attr(const Node& node, const char* name, const std::string& fallback);
const std::vector<std::int64_t>* ints_attr(const Node& node, const char* name);

// `axis` counted from the front. Absent where there is no such axis.
std::optional<std::size_t> axis_from_front(std::int64_t axis, std::size_t rank);

// The elements of one axis that a Slice takes.
struct Cut {
  std::size_t axis;
  std::int64_t start, step, count;
};
// The cuts of a Slice over a value of these dimensions. Absent where they are not known.
std::optional<std::vector<Cut>> slice_cuts(const Node& node, const std::vector<const Constant*>& inputs,
                                           const std::vector<std::int64_t>& dims);
// The sizes of the parts of a Split. Absent where they are not known.
std::optional<std::vector<std::int64_t>> split_sizes(const Node& node,
                                                     const std::vector<const Constant*>& inputs,
                                                     std::int64_t whole);
// Axes given as an attribute or, in later versions, as the second input. Absent: none given.
std::optional<std::vector<std::int64_t>> axes_of(const Node& node,
                                                 const std::vector<const Constant*>& inputs);

}  // namespace ampere::onnx

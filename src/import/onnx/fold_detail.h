// What the files of constant folding share. Not for others: fold.h is.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "import/onnx/onnx_model.h"

namespace ampere::onnx::fold_detail {

using Ints = std::vector<std::int64_t>;
using Inputs = std::vector<const Constant*>;
using Result = std::optional<std::vector<Constant>>;

inline Result one(Constant c) { return std::vector<Constant>{std::move(c)}; }

// Few enough for their values to be kept.
inline bool few(const Ints& dims) { return Constant{dims, ElementType::kInt, {}}.elements() <= kKeptValues; }

Ints strides_of(const Ints& dims);
// A constant of other dimensions whose elements come from places of this one.
Constant moved(const Constant& in, const Ints& dims, const std::function<std::size_t(const Ints&)>& from);
// Repeated along dimensions of size 1, as numpy does.
Constant spread_to(const Constant& in, const Ints& dims);

// ScatterND: a constant in which some elements, or slices, are those of another.
Result fold_scatter(const Node& node, const Inputs& in);

// Ops on single elements, and Where. Absent for other ops.
Result fold_elementwise(const Node& node, const Inputs& in);

}  // namespace ampere::onnx::fold_detail

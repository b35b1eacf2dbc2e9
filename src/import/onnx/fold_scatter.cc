// Folding of constants that are written into others, as the regions of a mask are.
#include <algorithm>

#include "import/onnx/fold_detail.h"
#include "import/onnx/sizes.h"

namespace ampere::onnx::fold_detail {

Result fold_scatter(const Node& node, const Inputs& in) {
  if (in.size() < 3 || !in[1] || !in[2] || in[1]->dims.empty()) return std::nullopt;
  Constant out = *in[0];
  const std::int64_t depth = in[1]->dims.back();
  if (depth < 1 || depth > static_cast<std::int64_t>(out.dims.size())) return std::nullopt;
  const auto places = whole_numbers(*in[1]);
  const bool plain = text_attr(node, "reduction", "none") == "none";
  if (!out.values || !places || !in[2]->values || !plain) {
    out.values.reset();
    return one(std::move(out));
  }
  const auto axes = static_cast<std::size_t>(depth);
  const Ints strides = strides_of(out.dims);
  const auto size = static_cast<std::size_t>(strides[axes - 1]);
  const std::size_t count = places->size() / axes;
  if (in[2]->values->size() != count * size) return std::nullopt;
  for (std::size_t k = 0; k < count; ++k) {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t given = (*places)[k * axes + i];
      const std::int64_t at = given < 0 ? given + out.dims[i] : given;
      if (at < 0 || at >= out.dims[i]) return std::nullopt;
      first += at * strides[i];
    }
    std::copy_n(in[2]->values->begin() + static_cast<std::ptrdiff_t>(k * size), size,
                out.values->begin() + static_cast<std::ptrdiff_t>(first));
  }
  return one(std::move(out));
}

}  // namespace ampere::onnx::fold_detail

#include "import/onnx/windows.h"

#include <algorithm>

#include "import/onnx/sizes.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;

Ints list_or(const onnx::Node& node, const char* name, std::size_t count, std::int64_t fallback) {
  const Ints* list = onnx::ints_attr(node, name);
  if (!list || list->empty()) return Ints(count, fallback);
  if (list->size() != count) throw Unsupported(std::string(name) + " of another length");
  for (std::int64_t v : *list) {
    if (v < 0 || v > kMaxWidth) throw Unsupported(std::string(name) + " out of range");
  }
  return *list;
}

}  // namespace

Windows windows_of(const onnx::Node& node, const Ints& dims, Ints kernel, const Ints& pads) {
  const std::size_t n = kernel.size();
  if (dims.size() != n + 2 || n < 1) throw Unsupported("windows of other dimensions than its input");
  Windows w{kernel, list_or(node, "strides", n, 1), Ints(n, 0), list_or(node, "dilations", n, 1)};
  const std::string automatic = onnx::text_attr(node, "auto_pad", "NOTSET");
  Ints given(2 * n, 0);
  if (automatic == "NOTSET" || automatic.empty()) given = list_or(node, "pads", 2 * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (w.stride[i] < 1 || w.dilation[i] < 1 || kernel[i] < 1 || kernel[i] > kMaxWidth)
      throw Unsupported("kernel, stride or dilation out of range");
    const std::int64_t size = dims[i + 2];
    const std::int64_t reach = w.dilation[i] * (kernel[i] - 1) + 1;
    std::int64_t before = given[i], behind = given[n + i];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t count = (size + w.stride[i] - 1) / w.stride[i];
      const std::int64_t total = std::max<std::int64_t>(0, (count - 1) * w.stride[i] + reach - size);
      before = total / 2;
      behind = total - before;
    }
    if (!pads.empty()) {
      before += pads[i + 2];
      behind += pads[pads.size() / 2 + i + 2];
    }
    // Networks pad evenly; a window may then start elsewhere, but there are as many of them.
    auto count = [&](std::int64_t sum) { return (size + sum - reach) / w.stride[i]; };
    w.padding[i] = std::max(before, behind);
    if (before != behind && count(2 * w.padding[i]) != count(before + behind)) {
      w.padding[i] = std::min(before, behind);
      if (count(2 * w.padding[i]) != count(before + behind)) throw Unsupported("padding that is uneven");
    }
  }
  // One number stands for all directions, as in networks written by hand: so equal layers are of one kind.
  for (Ints* list : {&w.kernel, &w.stride, &w.padding, &w.dilation}) {
    if (std::all_of(list->begin(), list->end(), [&](std::int64_t v) { return v == list->front(); }))
      list->resize(1);
  }
  return w;
}

}  // namespace ampere

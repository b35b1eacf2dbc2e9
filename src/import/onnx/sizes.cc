#include "import/onnx/sizes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ampere::onnx {
namespace {

using Ints = std::vector<std::int64_t>;
using Inputs = std::vector<const Constant*>;

constexpr double kLargest = 9007199254740992.0;  // 2^53

}  // namespace

std::optional<Ints> whole_numbers(const Constant& constant) {
  if (!constant.values) return std::nullopt;
  Ints out;
  for (double v : *constant.values) {
    const double bounded = std::isnan(v) ? 0 : std::clamp(v, -kLargest, kLargest);
    out.push_back(static_cast<std::int64_t>(bounded));
  }
  return out;
}

std::int64_t int_attr(const Node& node, const char* name, std::int64_t fallback) {
  auto it = node.attributes.find(name);
  return it == node.attributes.end() ? fallback : it->second.i;
}

double real_attr(const Node& node, const char* name, double fallback) {
  auto it = node.attributes.find(name);
  return it == node.attributes.end() ? fallback : it->second.f;
}

std::string text_attr(const Node& node, const char* name, const std::string& fallback) {
  auto it = node.attributes.find(name);
  return it == node.attributes.end() ? fallback : it->second.s;
}

const Ints* ints_attr(const Node& node, const char* name) {
  auto it = node.attributes.find(name);
  return it == node.attributes.end() ? nullptr : &it->second.ints;
}

std::optional<std::size_t> axis_from_front(std::int64_t axis, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

std::optional<Ints> broadcast_dims(const Ints& a, const Ints& b) {
  Ints out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::optional<Ints> reshaped_dims(const Ints& dims, const Ints& wanted, bool zero_is_zero) {
  if (wanted.size() > 16) return std::nullopt;
  Ints out;
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::int64_t d = wanted[i];
    if (d == 0 && !zero_is_zero) {
      if (i >= dims.size()) return std::nullopt;
      d = dims[i];
    }
    if (d == -1) {
      if (open) return std::nullopt;
      open = i;
    } else if (d < 0 || __builtin_mul_overflow(known, d, &known)) {
      return std::nullopt;
    }
    out.push_back(d);
  }
  const std::int64_t total = Constant{dims, ElementType::kInt, {}}.elements();
  if (open) {
    if (known == 0 || total % known != 0) return std::nullopt;
    out[*open] = total / known;
  } else if (known != total) {
    return std::nullopt;
  }
  return out;
}

std::optional<Ints> axes_of(const Node& node, const Inputs& in) {
  if (const Ints* axes = ints_attr(node, "axes")) return *axes;
  if (in.size() > 1 && in[1]) return whole_numbers(*in[1]);
  return std::nullopt;
}

std::optional<std::vector<Cut>> slice_cuts(const Node& node, const Inputs& in, const Ints& dims) {
  Ints starts, ends, axes, steps;
  auto from = [&](const char* name, std::size_t place, Ints& out) {
    if (const Ints* list = ints_attr(node, name)) {
      out = *list;
      return true;
    }
    if (in.size() <= place || !in[place]) return place >= 3;
    const auto values = whole_numbers(*in[place]);
    if (values) out = *values;
    return values.has_value();
  };
  if (!from("starts", 1, starts) || !from("ends", 2, ends) || !from("axes", 3, axes) ||
      !from("steps", 4, steps))
    return std::nullopt;
  if (starts.size() != ends.size()) return std::nullopt;
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = axis_from_front(i < axes.size() ? axes[i] : static_cast<std::int64_t>(i), dims.size());
    const std::int64_t step = i < steps.size() ? steps[i] : 1;
    if (!axis || step == 0 || step < -INT32_MAX) return std::nullopt;
    const std::int64_t size = dims[*axis];
    auto bounded = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
      return std::clamp(at < 0 ? at + size : at, low, high);
    };
    Cut cut{*axis, 0, step, 0};
    if (step > 0) {
      cut.start = bounded(starts[i], 0, size);
      const std::int64_t end = bounded(ends[i], 0, size);
      cut.count = end > cut.start ? (end - cut.start - 1) / step + 1 : 0;
    } else {
      cut.start = bounded(starts[i], -1, size - 1);
      const std::int64_t end = ends[i] < -size ? -1 : bounded(ends[i], -1, size - 1);
      cut.count = end < cut.start ? (cut.start - end - 1) / -step + 1 : 0;
    }
    cuts.push_back(cut);
  }
  return cuts;
}

std::optional<Ints> split_sizes(const Node& node, const Inputs& in, std::int64_t whole) {
  Ints sizes;
  if (const Ints* given = ints_attr(node, "split")) {
    sizes = *given;
  } else if (in.size() > 1 && in[1]) {
    const auto values = whole_numbers(*in[1]);
    if (!values) return std::nullopt;
    sizes = *values;
  } else {
    const auto parts = static_cast<std::int64_t>(node.outputs.size());
    if (parts < 1) return std::nullopt;
    const std::int64_t each = (whole + parts - 1) / parts;
    for (std::int64_t left = whole; static_cast<std::int64_t>(sizes.size()) < parts; left -= sizes.back())
      sizes.push_back(std::min(each, left));
  }
  std::int64_t total = 0;
  for (std::int64_t s : sizes) {
    if (s < 0 || __builtin_add_overflow(total, s, &total)) return std::nullopt;
  }
  if (total != whole || sizes.size() != node.outputs.size()) return std::nullopt;
  return sizes;
}

}  // namespace ampere::onnx

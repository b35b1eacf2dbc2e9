#include "import/onnx/fold.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "import/onnx/fold_detail.h"
#include "import/onnx/sizes.h"

namespace ampere::onnx {
namespace {

using namespace fold_detail;

Result fold_constant(const Node& node) {
  for (const auto& [name, a] : node.attributes) {
    if (name == "value" && a.tensor) return one(*a.tensor);
    if (name == "value_int")
      return one({{}, ElementType::kInt, std::vector<double>{static_cast<double>(a.i)}});
    if (name == "value_float") return one({{}, ElementType::kFloat, std::vector<double>{a.f}});
    if (name == "value_ints") {
      return one({{static_cast<std::int64_t>(a.ints.size())},
                  ElementType::kInt,
                  std::vector<double>(a.ints.begin(), a.ints.end())});
    }
    if (name == "value_floats")
      return one({{static_cast<std::int64_t>(a.floats.size())}, ElementType::kFloat, a.floats});
  }
  return std::nullopt;
}

Result fold_constant_of_shape(const Node& node, const Inputs& in) {
  const auto dims = whole_numbers(*in[0]);
  if (!dims || dims->size() > 16 || std::any_of(dims->begin(), dims->end(), [](auto d) { return d < 0; }))
    return std::nullopt;
  Constant out{*dims, ElementType::kFloat, std::nullopt};
  double value = 0;
  auto it = node.attributes.find("value");
  if (it != node.attributes.end() && it->second.tensor) {
    out.type = it->second.tensor->type;
    if (it->second.tensor->values && !it->second.tensor->values->empty())
      value = (*it->second.tensor->values)[0];
  }
  if (few(out.dims)) out.values = std::vector<double>(static_cast<std::size_t>(out.elements()), value);
  return one(std::move(out));
}

Result fold_range(const Inputs& in) {
  if (in.size() < 3 || !in[1] || !in[2] || !in[0]->values || !in[1]->values || !in[2]->values)
    return std::nullopt;
  if (in[0]->values->size() != 1 || in[1]->values->size() != 1 || in[2]->values->size() != 1)
    return std::nullopt;
  const double start = (*in[0]->values)[0], end = (*in[1]->values)[0], step = (*in[2]->values)[0];
  const double count = step == 0 ? 0 : std::ceil((end - start) / step);
  if (!(count >= 0 && count <= 1e9)) return std::nullopt;
  Constant out{{static_cast<std::int64_t>(count)}, in[0]->type, std::nullopt};
  if (few(out.dims)) {
    out.values.emplace();
    for (std::int64_t i = 0; i < out.dims[0]; ++i)
      out.values->push_back(start + static_cast<double>(i) * step);
  }
  return one(std::move(out));
}

Result fold_concat(const Node& node, const Inputs& in) {
  Ints dims;
  for (const Constant* c : in) {
    if (!c) return std::nullopt;
  }
  dims = in[0]->dims;
  const auto axis = axis_from_front(int_attr(node, "axis", 0), dims.size());
  if (!axis) return std::nullopt;
  std::int64_t total = 0;
  for (const Constant* c : in) {
    if (c->dims.size() != dims.size()) return std::nullopt;
    if (__builtin_add_overflow(total, c->dims[*axis], &total)) return std::nullopt;
  }
  dims[*axis] = total;
  Constant out{dims, in[0]->type, std::nullopt};
  const bool all = std::all_of(in.begin(), in.end(), [](const Constant* c) { return c->values.has_value(); });
  if (!all || !few(dims)) return one(std::move(out));
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < *axis; ++i) outer *= dims[i];
  out.values.emplace();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const Constant* c : in) {
      const auto each = c->values->size() / static_cast<std::size_t>(std::max<std::int64_t>(1, outer));
      const auto first = c->values->begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(o) * each);
      out.values->insert(out.values->end(), first, first + static_cast<std::ptrdiff_t>(each));
    }
  }
  if (static_cast<std::int64_t>(out.values->size()) != out.elements()) out.values.reset();
  return one(std::move(out));
}

Result fold_gather(const Node& node, const Inputs& in) {
  if (in.size() < 2 || !in[1]) return std::nullopt;
  const Constant &data = *in[0], &indices = *in[1];
  const auto axis = axis_from_front(int_attr(node, "axis", 0), data.dims.size());
  if (!axis) return std::nullopt;
  Ints dims(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(*axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, data.dims.end());
  if (dims.size() > 16) return std::nullopt;
  Constant out{dims, data.type, std::nullopt};
  if (!indices.values) return one(std::move(out));
  const Ints strides = strides_of(data.dims), places = strides_of(indices.dims);
  const std::size_t middle = indices.dims.size();
  return one(moved(data, dims, [&](const Ints& at) {
    std::int64_t index = 0, place = 0;
    for (std::size_t i = 0; i < middle; ++i) index += at[*axis + i] * places[i];
    double which = (*indices.values)[static_cast<std::size_t>(index)];
    if (which < 0) which += static_cast<double>(data.dims[*axis]);
    which = std::clamp(which, 0.0, static_cast<double>(std::max<std::int64_t>(1, data.dims[*axis]) - 1));
    for (std::size_t i = 0; i < data.dims.size(); ++i) {
      if (i < *axis) place += at[i] * strides[i];
      if (i == *axis) place += static_cast<std::int64_t>(which) * strides[i];
      if (i > *axis) place += at[i + middle - 1] * strides[i];
    }
    return static_cast<std::size_t>(place);
  }));
}

Result fold_slice(const Node& node, const Inputs& in) {
  const auto cuts = slice_cuts(node, in, in[0]->dims);
  if (!cuts) return std::nullopt;
  Ints dims = in[0]->dims, start(dims.size(), 0), step(dims.size(), 1);
  for (const Cut& c : *cuts) {
    dims[c.axis] = c.count;
    start[c.axis] = c.start;
    step[c.axis] = c.step;
  }
  const Ints strides = strides_of(in[0]->dims);
  return one(moved(*in[0], dims, [&](const Ints& at) {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) place += (start[i] + at[i] * step[i]) * strides[i];
    return static_cast<std::size_t>(place);
  }));
}

Result fold_split(const Node& node, const Inputs& in) {
  const auto axis = axis_from_front(int_attr(node, "axis", 0), in[0]->dims.size());
  if (!axis) return std::nullopt;
  const auto sizes = split_sizes(node, in, in[0]->dims[*axis]);
  if (!sizes) return std::nullopt;
  const Ints strides = strides_of(in[0]->dims);
  std::vector<Constant> out;
  std::int64_t start = 0;
  for (std::int64_t size : *sizes) {
    Ints dims = in[0]->dims;
    dims[*axis] = size;
    out.push_back(moved(*in[0], dims, [&](const Ints& at) {
      std::int64_t place = start * strides[*axis];
      for (std::size_t i = 0; i < dims.size(); ++i) place += at[i] * strides[i];
      return static_cast<std::size_t>(place);
    }));
    start += size;
  }
  return out;
}

Result fold_transpose(const Node& node, const Inputs& in) {
  const std::size_t rank = in[0]->dims.size();
  Ints order;
  if (const Ints* perm = ints_attr(node, "perm")) {
    order = *perm;
  } else {
    for (std::size_t i = rank; i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  }
  Ints sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (order.size() != rank) return std::nullopt;
  Ints dims;
  for (std::size_t i = 0; i < rank; ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) return std::nullopt;
    dims.push_back(in[0]->dims[static_cast<std::size_t>(order[i])]);
  }
  const Ints strides = strides_of(in[0]->dims);
  return one(moved(*in[0], dims, [&](const Ints& at) {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < rank; ++i) place += at[i] * strides[static_cast<std::size_t>(order[i])];
    return static_cast<std::size_t>(place);
  }));
}

Result fold_resized(const Node& node, const Inputs& in) {
  Constant out = *in[0];
  if (node.op == "Reshape") {
    if (in.size() < 2 || !in[1]) return std::nullopt;
    const auto wanted = whole_numbers(*in[1]);
    if (!wanted) return std::nullopt;
    const auto dims = reshaped_dims(in[0]->dims, *wanted, int_attr(node, "allowzero", 0) == 1);
    if (!dims) return std::nullopt;
    out.dims = *dims;
    return one(std::move(out));
  }
  if (node.op == "Flatten") {
    const std::int64_t rank = static_cast<std::int64_t>(out.dims.size());
    std::int64_t axis = int_attr(node, "axis", 1);
    axis = std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
    const auto middle = out.dims.begin() + axis;
    out.dims = {Constant{{out.dims.begin(), middle}, out.type, {}}.elements(),
                Constant{{middle, out.dims.end()}, out.type, {}}.elements()};
    return one(std::move(out));
  }
  const auto axes = axes_of(node, in);
  if (node.op == "Squeeze") {
    Ints dims;
    for (std::size_t i = 0; i < out.dims.size(); ++i) {
      bool gone = !axes && out.dims[i] == 1;
      for (std::int64_t a : axes.value_or(Ints{})) gone = gone || axis_from_front(a, out.dims.size()) == i;
      if (gone && out.dims[i] != 1) return std::nullopt;
      if (!gone) dims.push_back(out.dims[i]);
    }
    out.dims = dims;
    return one(std::move(out));
  }
  if (!axes || axes->size() + out.dims.size() > 16) return std::nullopt;  // Unsqueeze
  Ints places;
  for (std::int64_t a : *axes) {
    const auto at = axis_from_front(a, out.dims.size() + axes->size());
    if (!at) return std::nullopt;
    places.push_back(static_cast<std::int64_t>(*at));
  }
  std::sort(places.begin(), places.end());
  for (std::int64_t p : places)
    out.dims.insert(out.dims.begin() + std::min<std::int64_t>(p, static_cast<std::int64_t>(out.dims.size())),
                    1);
  return one(std::move(out));
}

Result fold_expand(const Inputs& in) {
  if (in.size() < 2 || !in[1]) return std::nullopt;
  const auto wanted = whole_numbers(*in[1]);
  if (!wanted || wanted->size() > 16 ||
      std::any_of(wanted->begin(), wanted->end(), [](auto d) { return d < 0; }))
    return std::nullopt;
  const auto dims = broadcast_dims(in[0]->dims, *wanted);
  if (!dims) return std::nullopt;
  return one(spread_to(*in[0], *dims));
}

Result fold_cast(const Node& node, const Inputs& in) {
  Constant out = *in[0];
  const std::int64_t to = int_attr(node, "to", 1);
  const bool real = to == 1 || to == 10 || to == 11 || to == 16;
  out.type = real ? ElementType::kFloat : to == 9 ? ElementType::kBool : ElementType::kInt;
  if (out.values && !real) {
    for (double& v : *out.values) v = to == 9 ? double(v != 0) : std::trunc(v);
  }
  return one(std::move(out));
}

// Sums and products over everything, which is how sizes are multiplied.
Result fold_reduce(const Node& node, const Inputs& in) {
  if (!in[0]->values || in[0]->dims.size() != 1) return std::nullopt;
  double total = node.op == "ReduceProd" ? 1 : 0;
  for (double v : *in[0]->values) total = node.op == "ReduceProd" ? total * v : total + v;
  Ints dims;
  if (int_attr(node, "keepdims", 1) == 1) dims.push_back(1);
  return one({dims, in[0]->type, std::vector<double>{total}});
}

}  // namespace

static std::optional<std::vector<Constant>> fold_unchecked(const Node& node,
                                                           const std::vector<const Constant*>& in) {
  using fold_detail::one;
  using fold_detail::Result;
  if (node.op == "Constant") return fold_constant(node);
  if (in.empty() || !in[0]) return std::nullopt;
  if (node.op == "Shape") {
    const auto rank = static_cast<std::int64_t>(in[0]->dims.size());
    auto bounded = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const std::int64_t start = bounded(int_attr(node, "start", 0)),
                       end = bounded(int_attr(node, "end", rank));
    std::vector<double> sizes;
    for (std::int64_t i = start; i < end; ++i)
      sizes.push_back(static_cast<double>(in[0]->dims[static_cast<std::size_t>(i)]));
    return one({{static_cast<std::int64_t>(sizes.size())}, ElementType::kInt, sizes});
  }
  if (node.op == "Size")
    return one({{}, ElementType::kInt, std::vector<double>{static_cast<double>(in[0]->elements())}});
  if (Result result = fold_detail::fold_elementwise(node, in)) return result;
  using fold_detail::Inputs;
  static const std::map<std::string, Result (*)(const Node&, const Inputs&)> table = {
      {"ConstantOfShape", fold_constant_of_shape},
      {"Concat", fold_concat},
      {"Gather", fold_gather},
      {"Slice", fold_slice},
      {"Split", fold_split},
      {"Transpose", fold_transpose},
      {"Reshape", fold_resized},
      {"Flatten", fold_resized},
      {"Squeeze", fold_resized},
      {"Unsqueeze", fold_resized},
      {"Cast", fold_cast},
      {"ReduceProd", fold_reduce},
      {"ReduceSum", fold_reduce},
      {"Range", [](const Node&, const Inputs& i) { return fold_range(i); }},
      {"Expand", [](const Node&, const Inputs& i) { return fold_expand(i); }},
      {"ScatterND", fold_scatter},
      // Sums along the way: only their shape is told.
      {"CumSum",
       [](const Node&, const Inputs& i) {
         return one({i[0]->dims, i[0]->type, std::nullopt});
       }},
      {"GatherElements",
       [](const Node&, const Inputs& i) {
         return i.size() > 1 && i[1] ? one({i[1]->dims, i[0]->type, std::nullopt}) : std::nullopt;
       }},
  };
  auto it = table.find(node.op);
  return it == table.end() ? std::nullopt : it->second(node, in);
}

std::optional<std::vector<Constant>> fold(const Node& node, const std::vector<const Constant*>& in,
                                          std::int64_t) {
  auto results = fold_unchecked(node, in);
  if (!results) return results;
  // What comes after goes by the sizes: a file that tells another number of values gets none of them.
  for (Constant& c : *results) {
    if (c.values && static_cast<std::int64_t>(c.values->size()) != c.elements()) c.values.reset();
  }
  return results;
}

}  // namespace ampere::onnx

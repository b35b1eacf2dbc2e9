// Folding of ops that work on single elements.
#include <algorithm>
#include <cmath>
#include <map>

#include "import/onnx/fold_detail.h"
#include "import/onnx/sizes.h"

namespace ampere::onnx::fold_detail {

Constant moved(const Constant& in, const Ints& dims, const std::function<std::size_t(const Ints&)>& from) {
  Constant out{dims, in.type, std::nullopt};
  if (!in.values || !few(dims)) return out;
  const auto count = static_cast<std::size_t>(out.elements());
  std::vector<double> values(count);
  Ints at(dims.size(), 0);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t place = from(at);
    values[k] = place < in.values->size() ? (*in.values)[place] : 0;
    for (std::size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
  out.values = std::move(values);
  return out;
}

Ints strides_of(const Ints& dims) {
  Ints strides(dims.size(), 1);
  // Shapes without values may be of any size; nobody looks at their strides, but they must not overflow.
  for (std::size_t i = dims.size(); i-- > 1;) {
    if (__builtin_mul_overflow(strides[i], dims[i], &strides[i - 1])) strides[i - 1] = 0;
  }
  return strides;
}

Constant spread_to(const Constant& in, const Ints& dims) {
  const Ints strides = strides_of(in.dims);
  const std::size_t skipped = dims.size() - in.dims.size();
  return moved(in, dims, [&](const Ints& at) {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < in.dims.size(); ++i)
      place += in.dims[i] == 1 ? 0 : at[skipped + i] * strides[i];
    return static_cast<std::size_t>(place);
  });
}

namespace {

using Binary = double (*)(double, double);
const std::map<std::string, Binary>& binaries() {
  static const std::map<std::string, Binary> table = {
      {"Add", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"Min", [](double a, double b) { return std::min(a, b); }},
      {"Max", [](double a, double b) { return std::max(a, b); }},
      {"Mod", [](double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); }},
      {"Div", [](double a, double b) { return b == 0 ? 0 : a / b; }},
      {"Equal", [](double a, double b) { return double(a == b); }},
      {"Less", [](double a, double b) { return double(a < b); }},
      {"LessOrEqual", [](double a, double b) { return double(a <= b); }},
      {"Greater", [](double a, double b) { return double(a > b); }},
      {"GreaterOrEqual", [](double a, double b) { return double(a >= b); }},
      {"And", [](double a, double b) { return double(a != 0 && b != 0); }},
      {"Or", [](double a, double b) { return double(a != 0 || b != 0); }},
      {"Xor", [](double a, double b) { return double((a != 0) != (b != 0)); }}};
  return table;
}

using Unary = double (*)(double);
const std::map<std::string, Unary>& unaries() {
  static const std::map<std::string, Unary> table = {{"Neg", [](double a) { return -a; }},
                                                     {"Abs", [](double a) { return std::abs(a); }},
                                                     {"Sqrt", [](double a) { return std::sqrt(a); }},
                                                     {"Floor", [](double a) { return std::floor(a); }},
                                                     {"Ceil", [](double a) { return std::ceil(a); }},
                                                     {"Exp", [](double a) { return std::exp(a); }},
                                                     {"Log", [](double a) { return std::log(a); }},
                                                     {"Reciprocal", [](double a) { return 1 / a; }},
                                                     {"Not", [](double a) { return double(a == 0); }},
                                                     {"Identity", [](double a) { return a; }}};
  return table;
}

bool compares(const std::string& op) {
  return op == "Equal" || op.rfind("Less", 0) == 0 || op.rfind("Greater", 0) == 0 || op == "And" ||
         op == "Or" || op == "Xor" || op == "Not";
}

Result fold_binary(const Node& node, const Inputs& in) {
  if (in.size() < 2 || !in[0] || !in[1]) return std::nullopt;
  const auto dims = broadcast_dims(in[0]->dims, in[1]->dims);
  if (!dims) return std::nullopt;
  Constant a = spread_to(*in[0], *dims);
  const Constant b = spread_to(*in[1], *dims);
  const Binary apply = binaries().at(node.op);
  const bool whole = a.type == ElementType::kInt && node.op == "Div";
  if (a.values && b.values) {
    for (std::size_t i = 0; i < a.values->size(); ++i) {
      double& v = (*a.values)[i];
      v = apply(v, (*b.values)[i]);
      if (whole) v = std::trunc(v);
    }
  } else {
    a.values.reset();
  }
  if (compares(node.op)) a.type = ElementType::kBool;
  return one(std::move(a));
}

Result fold_unary(const Node& node, const Inputs& in) {
  Constant out = *in[0];
  if (out.values) {
    for (double& v : *out.values) v = unaries().at(node.op)(v);
  }
  if (compares(node.op)) out.type = ElementType::kBool;
  return one(std::move(out));
}

Result fold_where(const Inputs& in) {
  if (in.size() < 3 || !in[1] || !in[2]) return std::nullopt;
  auto dims = broadcast_dims(in[1]->dims, in[2]->dims);
  if (dims) dims = broadcast_dims(*dims, in[0]->dims);
  if (!dims) return std::nullopt;
  Constant out = spread_to(*in[1], *dims);
  const Constant other = spread_to(*in[2], *dims), which = spread_to(*in[0], *dims);
  if (out.values && other.values && which.values) {
    for (std::size_t i = 0; i < out.values->size(); ++i) {
      if ((*which.values)[i] == 0) (*out.values)[i] = (*other.values)[i];
    }
  } else {
    out.values.reset();
  }
  return one(std::move(out));
}

}  // namespace

Result fold_elementwise(const Node& node, const Inputs& in) {
  if (node.op == "Where") return fold_where(in);
  if (binaries().count(node.op) > 0) return fold_binary(node, in);
  if (unaries().count(node.op) > 0) return fold_unary(node, in);
  return std::nullopt;
}

}  // namespace ampere::onnx::fold_detail

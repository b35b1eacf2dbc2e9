// What an import computes itself instead of handing it to the network: constants, shapes, masks.
#include <algorithm>

#include "import/onnx/fold.h"
#include "import/onnx/importer.h"
#include "import/onnx/sizes.h"

namespace ampere {
namespace {

using onnx::ElementType;
using Kind = Value::Kind;

// Ops that only move elements keep what they move: weights stay weights.
bool moves(const std::string& op) {
  static const std::set<std::string> known = {"Transpose", "Reshape",  "Squeeze", "Unsqueeze",
                                              "Slice",     "Split",    "Concat",  "Expand",
                                              "Cast",      "Identity", "Flatten", "Gather"};
  return known.count(op) > 0;
}

constexpr std::size_t kMostKeptValues = std::size_t{4} << 20;

bool renames(const std::string& op) {
  return op == "Transpose" || op == "Reshape" || op == "Cast" || op == "Identity" || op == "Squeeze" ||
         op == "Unsqueeze";
}

}  // namespace

bool Importer::fold(const onnx::Node& node) {
  std::vector<const onnx::Constant*> in;
  std::vector<onnx::Constant> shapes;
  shapes.reserve(node.inputs.size());
  const bool asks_shape = node.op == "Shape" || node.op == "Size";
  bool learned = false;
  for (const std::string& name : node.inputs) {
    if (name.empty()) {
      in.push_back(nullptr);
      continue;
    }
    const Value& v = value(name);
    if (v.kind == Kind::kConstant) {
      in.push_back(&v.constant);
      learned = learned || v.learned;
    } else if (asks_shape && v.kind != Kind::kUnknown) {
      shapes.push_back({sizes(v), v.type, std::nullopt});
      in.push_back(&shapes.back());
    } else {
      return false;
    }
  }
  const auto outputs = onnx::fold(node, in, model_.opset);
  if (!outputs) return false;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    Value v;
    v.kind = Kind::kConstant;
    v.type = (*outputs)[i].type;
    v.constant = (*outputs)[i];
    // Sizes need few numbers; a file that computes millions of them has something else in mind.
    if (v.constant.values) kept_values_ += v.constant.values->size();
    if (kept_values_ > kMostKeptValues) v.constant.values.reset();
    // What is written into a constant, bit by bit, is a mask: nobody trains it.
    v.learned = learned && v.type == ElementType::kFloat && !asks_shape && node.op != "ScatterND";
    if (renames(node.op)) {
      v.source = value(node.inputs[0]).source;
      v.rows = value(node.inputs[0]).rows;
    }
    // A lookup at places that never change, as position embeddings are.
    if (node.op == "Gather" && learned && in[0]->dims.size() == 2 && in[1]->elements() > 1)
      v.rows = in[0]->dims[onnx::axis_from_front(onnx::int_attr(node, "axis", 0), 2).value_or(0)];
    // Of a table that several layers read, the name tells that it is one.
    if (v.learned && node.op == "Gather") v.source = value(node.inputs[0]).source;
    if (!moves(node.op)) v.source.clear();
    if (node.op == "Add") keep_table(node, v);
    put(node, std::move(v), i);
  }
  return true;
}

// A mask that is added to biases first leaves them what they are.
void Importer::keep_table(const onnx::Node& node, Value& sum) const {
  for (const std::string& name : node.inputs) {
    const Value& part = value(name);
    if (!part.learned || part.rows == 0) continue;
    sum.learned = true;
    sum.rows = part.rows;
    sum.source = part.source;
  }
}

// Masks and the like, from whole numbers or random ones: only their shapes matter.
bool Importer::aside(const onnx::Node& node) {
  static const std::set<std::string> arithmetic = {
      "Add", "Sub",   "Mul",  "Div", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or",
      "Not", "Where", "Cast", "Pow", "Min",   "Max",  "Mod",         "Neg",     "CumSum"};
  bool side = false, counted = false, random = false;
  double keep = 1;
  std::vector<onnx::Constant> shapes;
  std::vector<const onnx::Constant*> in;
  shapes.reserve(node.inputs.size());
  for (const std::string& name : node.inputs) {
    if (name.empty()) {
      in.push_back(nullptr);
      continue;
    }
    const Value& v = value(name);
    const bool whole = v.kind == Kind::kData && v.type != ElementType::kFloat;
    if (v.kind != Kind::kConstant && v.kind != Kind::kSide && !whole) return false;
    side = side || v.kind == Kind::kSide;
    counted = counted || whole;
    random = random || v.random;
    if (v.random) keep = std::min(keep, v.keep);
    if (v.kind == Kind::kConstant) {
      in.push_back(&v.constant);
    } else {
      shapes.push_back({sizes(v), v.type, std::nullopt});
      in.push_back(&shapes.back());
    }
  }
  if (!side && !(counted && arithmetic.count(node.op) > 0)) return false;
  if (node.op == "Gather" && value(node.inputs[0]).learned) return false;  // a table of weights
  // Whole numbers that stay whole are still what an embedding may read.
  if (!side && node.op == "Cast" && onnx::int_attr(node, "to", 1) != 1 && onnx::int_attr(node, "to", 1) != 9)
    return false;
  const auto outputs = onnx::fold(node, in, model_.opset);
  if (!outputs) return false;
  if (random && node.op == "Less" && in.size() > 1 && in[1] && in[1]->values && in[1]->values->size() == 1)
    keep = (*in[1]->values)[0];
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    Value v;
    v.kind = Kind::kSide;
    v.type = (*outputs)[i].type;
    v.dims = (*outputs)[i].dims;
    v.random = random;
    v.keep = keep;
    if (node.op == "Add") keep_table(node, v);
    put(node, std::move(v), i);
  }
  return true;
}

}  // namespace ampere

#include "layers/kind_json.h"

#include "base/error.h"
#include "network/network_json.h"

namespace ampere {
namespace {

constexpr Surface kSurfaces[] = {Surface::kOut, Surface::kIn, Surface::kInOut, Surface::kTied,
                                 Surface::kPoint};
constexpr LayerRole kRoles[] = {LayerRole::kInput, LayerRole::kHidden, LayerRole::kOutput, LayerRole::kOnly};
constexpr std::size_t kMostOps = 64;  // a layer has a handful

Json op_to_json(const Node& node) {
  Json j = {{"op", name_of(node.op)}};
  for (const auto& [name, value] : node.attrs) j[name] = attr_to_json(value);
  return j;
}

Node op_from_json(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  const OpSpec* spec = find_op(r.text("op"));
  if (!spec) throw bad_input(where + ": unknown op \"" + r.text("op") + "\"");
  Node node;
  node.op = spec->op;
  for (const AttrSpec& attr : spec->attrs) {
    // One that came into being after the kind was written has its default.
    const AttrValue value =
        r.has(attr.name) ? attr_from_json(json.at(attr.name), where, attr.name) : attr.fallback;
    if (value.index() != attr.fallback.index())
      throw bad_input(where + ": attribute \"" + attr.name + "\" is of the wrong type");
    node.attrs[attr.name] = value;
  }
  return node;
}

Json input_to_json(const InputShape& input) {
  Json j = {{"dims", input.dims}, {"dtype", input.dtype == DType::kInt ? "int" : "float"}};
  if (input.classes > 0) j["classes"] = input.classes;
  return j;
}

InputShape input_from_json(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  const std::string dtype = r.text("dtype");
  r.require_one_of("dtype", dtype, {"int", "float"});
  return {r.integers("dims"), dtype == "int" ? DType::kInt : DType::kFloat,
          r.integer_between("classes", 0, 0, INT64_MAX)};
}

}  // namespace

const char* to_word(Surface surface) {
  switch (surface) {
    case Surface::kOut:
      return "out";
    case Surface::kIn:
      return "in";
    case Surface::kInOut:
      return "in-out";
    case Surface::kTied:
      return "tied";
    default:
      return "point";
  }
}

LayerRole role_from_word(const std::string& word) {
  for (const LayerRole role : kRoles) {
    if (word == to_word(role)) return role;
  }
  throw bad_input("a layer has no role \"" + word + "\" (known: input, hidden, output, only)");
}

Json kind_to_json(const LayerKind& kind) {
  Json j = {{"ops", Json::array()},
            {"head", kind.head},
            {"inputs", Json::array()},
            {"batch", kind.batch},
            {"surface", to_word(kind.surface)},
            {"fixed", {{"in", kind.fixed.in}, {"out", kind.fixed.out}}}};
  for (const Node& op : kind.ops) j["ops"].push_back(op_to_json(op));
  for (const InputShape& input : kind.inputs) j["inputs"].push_back(input_to_json(input));
  if (kind.feedforward_ratio > 0) j["feedforward_ratio"] = kind.feedforward_ratio;
  return j;
}

LayerKind kind_from_json(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  LayerKind kind;
  for (const Json& op : r.array("ops")) kind.ops.push_back(op_from_json(op, where));
  for (const Json& input : r.array("inputs")) kind.inputs.push_back(input_from_json(input, where));
  if (kind.ops.empty() || kind.ops.size() > kMostOps || kind.inputs.empty())
    throw bad_input(where + ": a kind has 1 to " + std::to_string(kMostOps) + " ops, and inputs");
  kind.head = static_cast<std::size_t>(
      r.integer_between("head", 0, 0, static_cast<std::int64_t>(kind.ops.size()) - 1));
  kind.batch = r.integer_between("batch", 1, 1, INT64_MAX);
  const std::string surface = r.text("surface");
  for (const Surface s : kSurfaces) {
    if (surface == to_word(s)) kind.surface = s;
  }
  r.require_one_of("surface", surface, {"out", "in", "in-out", "tied", "point"});
  const JsonReader fixed(r.object("fixed"), where);
  kind.fixed = {fixed.integer("in"), fixed.integer("out")};
  kind.feedforward_ratio = r.integer_between("feedforward_ratio", 0, 0, INT64_MAX);
  return kind;
}

}  // namespace ampere

#include "network/recorded_pass.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

namespace ampere {
namespace {

constexpr std::size_t kMaxTensors = 200000;
constexpr std::size_t kMaxRank = 16;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

constexpr std::array<std::pair<TensorRole, const char*>, 5> kRoles = {{{TensorRole::kValue, "value"},
                                                                       {TensorRole::kInput, "input"},
                                                                       {TensorRole::kParameter, "parameter"},
                                                                       {TensorRole::kBuffer, "buffer"},
                                                                       {TensorRole::kConstant, "constant"}}};

const char* word_of(TensorRole role) {
  for (const auto& [known, word] : kRoles) {
    if (known == role) return word;
  }
  return "value";
}

TensorRole role_from(const JsonReader& r) {
  const std::string given = r.text("role", "value");
  for (const auto& [role, word] : kRoles) {
    if (given == word) return role;
  }
  throw bad_input(r.where() + ": field \"role\" must be value, input, parameter, buffer or constant");
}

RecordedTensor tensor_from(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  RecordedTensor tensor{r.integers("shape"), r.text("dtype"), role_from(r), r.text("name", ""), 0};
  if (tensor.shape.size() > kMaxRank) throw bad_input(where + ": more than 16 dimensions");
  std::int64_t elements = 1;
  for (std::int64_t d : tensor.shape) {
    if (d < 0 || d > kMaxSize) throw bad_input(where + ": a dimension of " + std::to_string(d));
    if (d > kMaxSize / elements) throw bad_input(where + ": too many elements");
    elements *= std::max<std::int64_t>(d, 1);
  }
  const std::int64_t axis = r.integer("batch_axis", 0);
  if (axis < 0 || (axis > 0 && axis >= static_cast<std::int64_t>(tensor.shape.size())))
    throw bad_input(where + ": there is no dimension " + std::to_string(axis));
  tensor.batch_axis = static_cast<int>(axis);
  return tensor;
}

std::vector<int> indices(const JsonReader& r, const std::string& key, std::size_t count) {
  std::vector<int> result;
  for (std::int64_t i : r.integers(key)) {
    if (i < 0 || static_cast<std::size_t>(i) >= count)
      throw bad_input(r.where() + ": field \"" + key + "\": there is no tensor " + std::to_string(i));
    result.push_back(static_cast<int>(i));
  }
  return result;
}

void collect(const Json& argument, std::vector<int>& found) {
  if (argument.is_array()) {
    for (const Json& one : argument) collect(one, found);
  } else if (argument.is_object() && argument.contains("tensor")) {
    const std::int64_t index = JsonReader(argument, "argument").integer("tensor");
    found.push_back(index < 0 || index > static_cast<std::int64_t>(kMaxTensors) ? -1
                                                                                : static_cast<int>(index));
  }
}

RecordedOp op_from(const Json& json, const std::string& where, std::vector<bool>& known) {
  const JsonReader r(json, where);
  RecordedOp op{r.text("op"), r.text("module", ""), r.object("args"), {}};
  for (const auto& [name, argument] : op.args.items()) {
    for (int t : tensors_of(argument)) {
      if (t < 0 || static_cast<std::size_t>(t) >= known.size() || !known[static_cast<std::size_t>(t)]) {
        throw bad_input(where + ": argument \"" + name + "\" reads a tensor that is not there yet");
      }
    }
  }
  op.outputs = indices(r, "outputs", known.size());
  for (int t : op.outputs) {
    if (known[static_cast<std::size_t>(t)]) throw bad_input(where + ": puts out a tensor a second time");
    known[static_cast<std::size_t>(t)] = true;
  }
  return op;
}

}  // namespace

std::vector<int> tensors_of(const Json& argument) {
  std::vector<int> found;
  collect(argument, found);
  return found;
}

Json to_json(const RecordedPass& pass) {
  Json tensors = Json::array(), ops = Json::array();
  for (const RecordedTensor& t : pass.tensors) {
    Json j = {{"shape", t.shape}, {"dtype", t.dtype}};
    if (t.role != TensorRole::kValue) j["role"] = word_of(t.role);
    if (!t.name.empty()) j["name"] = t.name;
    if (t.batch_axis != 0) j["batch_axis"] = t.batch_axis;
    tensors.push_back(std::move(j));
  }
  for (const RecordedOp& op : pass.ops) {
    Json j = {{"op", op.op}, {"args", op.args}, {"outputs", op.outputs}};
    if (!op.module.empty()) j["module"] = op.module;
    ops.push_back(std::move(j));
  }
  return {{"name", pass.name},     {"batch", pass.batch},     {"parameters", pass.parameters},
          {"inputs", pass.inputs}, {"outputs", pass.outputs}, {"tensors", std::move(tensors)},
          {"ops", std::move(ops)}};
}

RecordedPass recorded_pass_from_json(const Json& json) {
  const JsonReader r(json, "trace");
  RecordedPass pass;
  pass.name = r.text("name", "");
  pass.batch = r.integer("batch");
  pass.parameters = r.number("parameters", 0);
  if (pass.batch < 1 || pass.batch > kMaxSize) throw bad_input("trace: \"batch\" must be at least 1");
  if (!(pass.parameters >= 0)) throw bad_input("trace: \"parameters\" must not be negative");
  const Json& tensors = r.array("tensors");
  const Json& ops = r.array("ops");
  if (tensors.size() > kMaxTensors || ops.size() > kMaxRecordedOps) throw bad_input("trace: too many ops");
  std::vector<bool> known;  // before the first op: all that no op puts out
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    pass.tensors.push_back(tensor_from(tensors[i], "trace: tensor " + std::to_string(i)));
    known.push_back(pass.tensors.back().role != TensorRole::kValue);
  }
  pass.inputs = indices(r, "inputs", tensors.size());
  for (std::size_t i = 0; i < ops.size(); ++i)
    pass.ops.push_back(op_from(ops[i], "trace: op " + std::to_string(i), known));
  pass.outputs = indices(r, "outputs", tensors.size());
  return pass;
}

}  // namespace ampere

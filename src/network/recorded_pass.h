// One forward pass of somebody's module, as a framework ran it: which ops, on which tensors, with which
// arguments. A worker records it (docs/protocol.md, "trace"); import/torchscript.h makes a Network of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace ampere {

enum class TensorRole {
  kValue,      // an op put it out
  kInput,      // given to the module
  kParameter,  // trained
  kBuffer,     // kept by the module, not trained
  kConstant,   // appeared from nowhere: a number in the module's code
};

struct RecordedTensor {
  std::vector<std::int64_t> shape;
  std::string dtype;  // "float", "int", "bool" or "other"
  TensorRole role = TensorRole::kValue;
  std::string name;    // of a parameter or buffer: "layer1.0.conv1.weight"
  int batch_axis = 0;  // of an input
};

// The outermost ops only: what a convolution calls inside is no op of the network.
struct RecordedOp {
  std::string op;      // "aten::conv2d"
  std::string module;  // where it is called: "layer1.0.conv1"; empty: the module itself
  // Arguments by their names in the op's schema. A tensor is {"tensor": index}, None is null; what is no
  // number, text or list of them is {"other": type}.
  Json args = Json::object();
  std::vector<int> outputs;  // indices of tensors, each the output of this op alone
};

struct RecordedPass {
  std::string name;          // of the module's class: "ResNet"
  std::int64_t batch = 0;    // what it was run with
  double parameters = 0;     // numbers in all parameters, used or not
  std::vector<int> inputs;   // tensors, in the order of the request
  std::vector<int> outputs;  // tensors that the module returned, flattened
  std::vector<RecordedTensor> tensors;
  std::vector<RecordedOp> ops;
};

// Most ops of a pass; what a module with an endless loop may leave behind.
inline constexpr std::size_t kMaxRecordedOps = 20000;

Json to_json(const RecordedPass& pass);
// Refuses what cannot be true: tensors that do not exist or are read before they are put out.
RecordedPass recorded_pass_from_json(const Json& json);

// The tensors that an argument refers to, in order; empty for all others.
std::vector<int> tensors_of(const Json& argument);

}  // namespace ampere

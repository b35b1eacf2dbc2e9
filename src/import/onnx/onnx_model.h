// What an ONNX file says, as far as an import needs it: the graph, shapes and small constants. Weights are
// never read, wherever they are kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace ampere::onnx {

enum class ElementType { kOther, kFloat, kInt, kBool };

struct Constant {
  std::vector<std::int64_t> dims;
  ElementType type = ElementType::kFloat;
  // Of tensors of at most kKeptValues elements that the file itself holds; whole numbers up to 2^53.
  std::optional<std::vector<double>> values;

  std::int64_t elements() const;
};
inline constexpr std::int64_t kKeptValues = 4096;

struct Attribute {
  std::int64_t i = 0;
  double f = 0;
  std::string s;
  std::vector<std::int64_t> ints;
  std::vector<double> floats;
  std::optional<Constant> tensor;
  bool graph = false;     // holds a graph of its own (If, Loop), which is not read
  std::string reference;  // inside a function: the name of the caller's attribute
};

struct Node {
  std::string op;
  std::string domain;  // empty: the standard one
  std::string name;
  std::vector<std::string> inputs, outputs;  // an empty input is one that is left out
  std::map<std::string, Attribute> attributes;
};

// A dimension is a number, or a name, or neither.
struct Dim {
  std::int64_t value = 0;  // 0: not told
  std::string name;
};

struct Declared {
  std::string name;
  ElementType type = ElementType::kFloat;
  bool has_shape = false;
  std::vector<Dim> dims;
};

// Nodes that a node of this domain and name stands for.
struct Function {
  std::string domain, name;
  std::vector<std::string> inputs, outputs;
  std::vector<Node> nodes;
};

struct Model {
  std::string producer, producer_version;
  std::int64_t opset = 0;  // of the standard domain
  std::vector<Declared> inputs, outputs;
  std::unordered_map<std::string, Constant> initializers;
  std::unordered_map<std::string, Declared> shapes;  // of values in between, where the file tells them
  std::vector<Node> nodes;
  std::vector<Function> functions;
};

// Throws Error{kBadInput} when the bytes are no ONNX model or one beyond the limits (100,000 nodes, 128 MB
// without its weights); `where` names the file.
Model read_model(const void* data, std::size_t size, const std::string& where);
// Maps the file into memory, so that weights in it are not even loaded.
Model read_model_file(const std::string& path);

// Puts the nodes of functions in the place of the nodes that call them. Throws Error{kBadInput} when they
// call each other in a circle or become too many.
void inline_functions(Model& model, const std::string& where);

}  // namespace ampere::onnx

// A neural network as a graph of ops with hyperparameters. Shapes are inferred (shape.h), never stored.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "network/op.h"

namespace ampere {

// One op of the graph. All attributes of its spec are present, defaults filled in.
struct Node {
  std::string name;  // unique within the network
  Op op;
  Attrs attrs;
  std::vector<int> inputs;  // indices of earlier nodes

  // The attribute must exist and be of that type; true by construction for nodes of a Network.
  std::int64_t integer(const char* attr) const { return std::get<std::int64_t>(attrs.at(attr)); }
  double real(const char* attr) const { return std::get<double>(attrs.at(attr)); }
  bool flag(const char* attr) const { return std::get<bool>(attrs.at(attr)); }
  const std::string& word(const char* attr) const { return std::get<std::string>(attrs.at(attr)); }
  const std::vector<std::int64_t>& list(const char* attr) const {
    return std::get<std::vector<std::int64_t>>(attrs.at(attr));
  }
};

// Nodes are kept in an order where inputs come first, so there are no cycles.
class Network {
 public:
  explicit Network(std::string name = "network") : name_(std::move(name)) {}

  // Appends a node and returns its index. Checks the attributes against the op's spec and that the
  // inputs exist; an empty name becomes "<op><index>". Throws Error{kBadInput} naming the node.
  int add(Op op, std::vector<int> inputs, Attrs attrs = {}, std::string name = "");

  // The nodes whose values are trained against a target; the last node unless set.
  void set_outputs(std::vector<int> outputs);

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<int> outputs() const;
  // For each node, the indices of the nodes that read it.
  std::vector<std::vector<int>> consumers() const;

 private:
  std::string name_;
  std::vector<Node> nodes_;
  std::unordered_set<std::string> names_;
  std::vector<int> outputs_;
};

// The batch that a network's captured calls were made with; absent: it has none, and any batch will do.
std::optional<std::int64_t> captured_batch(const Network& network);

// "node \"conv2\" (conv2d)", for error messages.
std::string describe(const Node& node);

}  // namespace ampere

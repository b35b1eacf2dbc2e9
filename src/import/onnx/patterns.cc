#include "import/onnx/patterns.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

namespace ampere::onnx {
namespace {

constexpr int kMostOfPattern = 16;  // of one pattern
constexpr int kMostCandidates = 8;  // for the value that a pattern starts from

class Patterns {
 public:
  explicit Patterns(Model& model) : model_(model) {
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
      for (const std::string& o : model.nodes[i].outputs) {
        if (!o.empty()) producer_[o] = i;
      }
      for (const std::string& in : model.nodes[i].inputs) readers_[in].push_back(i);
    }
    for (const Declared& o : model.outputs) readers_[o.name].push_back(model.nodes.size());
  }

  void merge() {
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const Node& node = model_.nodes[i];
      if ((node.op != "Mul" && node.op != "Div") || !node.domain.empty() || node.outputs.size() != 1)
        continue;
      try_at(i);
    }
  }

 private:
  const Node* maker(const std::string& name) const {
    auto it = producer_.find(name);
    return it == producer_.end() ? nullptr : &model_.nodes[it->second];
  }

  // One number, or a list of axes: an operand that is no data.
  bool is_number(const std::string& name) const {
    if (name.empty()) return true;
    auto it = model_.initializers.find(name);
    if (it != model_.initializers.end()) return it->second.elements() <= 4 && it->second.values;
    const Node* node = maker(name);
    if (!node || node->op != "Constant") return false;
    auto value = node->attributes.find("value");
    if (value == node->attributes.end()) return true;
    return value->second.tensor && value->second.tensor->elements() <= 4;
  }

  std::vector<std::string> data_inputs(const Node& node) const {
    std::vector<std::string> out;
    for (const std::string& in : node.inputs) {
      if (!is_number(in)) out.push_back(in);
    }
    return out;
  }

  static bool elementwise(const std::string& op) {
    static const std::set<std::string> known = {"Mul",  "Div",         "Add",        "Sub",       "Pow",
                                                "Erf",  "Tanh",        "Sigmoid",    "Sqrt",      "Cast",
                                                "Clip", "HardSigmoid", "Reciprocal", "ReduceMean"};
    return known.count(op) > 0;
  }

  // All ops between `name` and `source`, if every path from one leads to the other.
  bool between(const std::string& name, const std::string& source, std::multiset<std::string>& ops,
               std::set<std::string>& visited) const {
    if (name == source) return true;
    if (!visited.insert(name).second) return true;
    if (visited.size() > kMostOfPattern) return false;
    const Node* node = maker(name);
    if (!node || !node->domain.empty() || !elementwise(node->op)) return false;
    const std::vector<std::string> inputs = data_inputs(*node);
    if (inputs.empty()) return false;
    ops.insert(node->op);
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](const std::string& in) { return between(in, source, ops, visited); });
  }

  // Values that may be what the pattern starts from, the nearest first.
  std::vector<std::string> candidates(const Node& node) const {
    std::vector<std::string> queue = data_inputs(node);
    for (std::size_t i = 0; i < queue.size() && queue.size() < kMostCandidates; ++i) {
      const Node* from = maker(queue[i]);
      if (!from || !elementwise(from->op)) continue;
      for (const std::string& in : data_inputs(*from)) {
        if (std::find(queue.begin(), queue.end(), in) == queue.end()) queue.push_back(in);
      }
    }
    return queue;
  }

  void try_at(std::size_t index) {
    const Node node = model_.nodes[index];
    if (data_inputs(node).size() != 2) return;
    std::optional<Node> later;
    for (const std::string& source : candidates(node)) {
      std::multiset<std::string> ops;
      std::set<std::string> visited;
      bool all = true;
      for (const std::string& in : data_inputs(node)) all = all && between(in, source, ops, visited);
      if (!all) continue;
      Node merged = spelled(node, ops);
      if (merged.op.empty()) continue;
      merged.name = node.name;
      merged.inputs = {source};
      // A layer norm takes the mean off first, and what is left looks like a norm of its own.
      if (merged.op == "LayerNormalization" && ops.count("ReduceMean") < 2) {
        if (!later) later = std::move(merged);
        continue;
      }
      replace(index, std::move(merged));
      return;
    }
    if (later) replace(index, std::move(*later));
  }

  static Node spelled(const Node& last, const std::multiset<std::string>& ops) {
    Node out;
    const auto count = [&](const char* op) { return ops.count(op); };
    Attribute a;
    if (count("ReduceMean") > 0) {
      if (count("Sqrt") == 0) return out;
      out.op = "LayerNormalization";
      a.i = -1;
      out.attributes["axis"] = a;
      return out;
    }
    if (last.op != "Mul") return out;
    if (count("Erf") == 1) {
      out.op = "Gelu";
    } else if (count("Tanh") == 1 && count("Add") >= 2) {
      out.op = "Gelu";
      a.s = "tanh";
      out.attributes["approximate"] = a;
    } else if (count("Sigmoid") == 1 && ops.size() <= 2) {
      out.op = "Silu";
    } else if ((count("HardSigmoid") == 1 && ops.size() == 1) || (count("Clip") == 1 && count("Add") == 1)) {
      out.op = "HardSwish";
    }
    return out;
  }

  // The merged node goes where the last one was, or one further where a factor such as 0.5 comes at the end.
  void replace(std::size_t index, Node merged) {
    std::string result = model_.nodes[index].outputs[0];
    if (merged.op == "Gelu" || merged.op == "HardSwish") {
      auto readers = readers_.find(result);
      if (readers != readers_.end() && readers->second.size() == 1 &&
          readers->second[0] < model_.nodes.size()) {
        const std::size_t next = readers->second[0];
        const Node& after = model_.nodes[next];
        const bool factor = (after.op == "Mul" || after.op == "Div") && data_inputs(after).size() == 1;
        if (factor && after.outputs.size() == 1 && next > index) {
          result = after.outputs[0];
          index = next;
        }
      }
    }
    merged.outputs = {result};
    model_.nodes[index] = std::move(merged);
  }

  Model& model_;
  std::unordered_map<std::string, std::size_t> producer_;
  std::unordered_map<std::string, std::vector<std::size_t>> readers_;
};

void drop_unused(Model& model) {
  std::set<std::string> wanted;
  for (const Declared& o : model.outputs) wanted.insert(o.name);
  std::vector<bool> live(model.nodes.size(), false);
  // Nodes stand in an order where inputs come first.
  for (std::size_t i = model.nodes.size(); i-- > 0;) {
    const Node& node = model.nodes[i];
    live[i] = std::any_of(node.outputs.begin(), node.outputs.end(),
                          [&](const std::string& o) { return !o.empty() && wanted.count(o) > 0; });
    if (live[i]) wanted.insert(node.inputs.begin(), node.inputs.end());
  }
  std::vector<Node> kept;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    if (live[i]) kept.push_back(std::move(model.nodes[i]));
  }
  model.nodes = std::move(kept);
}

}  // namespace

void merge_patterns(Model& model) {
  Patterns(model).merge();
  drop_unused(model);
}

}  // namespace ampere::onnx

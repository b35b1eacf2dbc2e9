#include <map>

#include "base/error.h"
#include "import/onnx/onnx_model.h"

namespace ampere::onnx {
namespace {

constexpr std::size_t kMostInlined = 100000;
constexpr int kDeepest = 16;
constexpr int kMostCalls = 100000;
constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // of names

class Inliner {
 public:
  Inliner(Model& model, const std::string& where) : where_(where) {
    for (const Function& f : model.functions) functions_[f.domain + "::" + f.name] = &f;
    expand(model.nodes, nullptr, {}, "", 0);
  }
  std::vector<Node> take() { return std::move(out_); }

 private:
  // Inside a function names are its own: inputs and outputs are the caller's, all others get a prefix.
  void expand(const std::vector<Node>& nodes, const Node* caller,
              const std::map<std::string, std::string>& names, const std::string& prefix, int depth) {
    if (depth > kDeepest) throw bad_input(where_ + ": functions that call each other without end");
    for (const Node& original : nodes) {
      Node node = original;
      if (caller) rename(node, *caller, names, prefix);
      auto it = functions_.find(node.domain + "::" + node.op);
      if (it == functions_.end()) {
        for (const auto* names_of : {&node.inputs, &node.outputs}) {
          for (const std::string& n : *names_of) bytes_ += n.size() + 64;
        }
        bytes_ += node.name.size() + node.op.size();
        if (bytes_ > kMostBytes) throw bad_input(where_ + ": functions whose names take more than 256 MB");
        out_.push_back(std::move(node));
        if (out_.size() > kMostInlined) throw bad_input(where_ + ": more than 100,000 nodes");
        continue;
      }
      const Function& f = *it->second;
      if (++calls_ > kMostCalls) throw bad_input(where_ + ": more than 100,000 calls of functions");
      std::map<std::string, std::string> inner;
      for (std::size_t i = 0; i < f.inputs.size(); ++i)
        inner[f.inputs[i]] = i < node.inputs.size() ? node.inputs[i] : "";
      for (std::size_t i = 0; i < f.outputs.size() && i < node.outputs.size(); ++i)
        inner[f.outputs[i]] = node.outputs[i];
      expand(f.nodes, &node, inner, "f" + std::to_string(calls_) + ".", depth + 1);
    }
  }

  static void rename(Node& node, const Node& caller, const std::map<std::string, std::string>& names,
                     const std::string& prefix) {
    auto own = [&](std::string& name) {
      if (name.empty()) return;
      auto it = names.find(name);
      name = it == names.end() ? prefix + name : it->second;
    };
    for (std::string& in : node.inputs) own(in);
    for (std::string& o : node.outputs) own(o);
    if (!caller.name.empty()) node.name = caller.name + "/" + (node.name.empty() ? node.op : node.name);
    for (auto it = node.attributes.begin(); it != node.attributes.end();) {
      if (it->second.reference.empty()) {
        ++it;
        continue;
      }
      auto given = caller.attributes.find(it->second.reference);
      if (given == caller.attributes.end()) {
        it = node.attributes.erase(it);
      } else {
        it->second = given->second;
        ++it;
      }
    }
  }

  std::string where_;
  std::map<std::string, const Function*> functions_;
  std::vector<Node> out_;
  int calls_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

void inline_functions(Model& model, const std::string& where) {
  if (model.functions.empty()) return;
  model.nodes = Inliner(model, where).take();
}

}  // namespace ampere::onnx

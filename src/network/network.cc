#include "network/network.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/error.h"

namespace ampere {
namespace {

void check_range(const Node& node, const AttrSpec& spec, std::int64_t value) {
  if (value < spec.min || value > spec.max) {
    throw bad_input(describe(node) + ": \"" + spec.name + "\" must be between " + std::to_string(spec.min) +
                    " and " + std::to_string(spec.max) + ", found " + std::to_string(value));
  }
}

// Brings one given attribute to the type its spec asks for, or throws.
AttrValue checked(const Node& node, const AttrSpec& spec, const AttrValue& given) {
  auto wrong = [&](const char* expected) {
    return bad_input(describe(node) + ": \"" + spec.name + "\" must be " + expected);
  };
  if (std::holds_alternative<std::vector<std::int64_t>>(spec.fallback)) {
    std::vector<std::int64_t> values;
    if (auto* one = std::get_if<std::int64_t>(&given)) {
      values = {*one};
    } else if (auto* many = std::get_if<std::vector<std::int64_t>>(&given)) {
      values = *many;
    } else {
      throw wrong("a whole number or a list of them");
    }
    if (values.size() > 16) throw wrong("a list of at most 16 numbers");
    if (spec.required && values.empty()) throw wrong("a list that is not empty");
    for (std::int64_t v : values) check_range(node, spec, v);
    return values;
  }
  if (std::holds_alternative<std::int64_t>(spec.fallback)) {
    auto* value = std::get_if<std::int64_t>(&given);
    if (!value) throw wrong("a whole number");
    check_range(node, spec, *value);
    return *value;
  }
  if (std::holds_alternative<double>(spec.fallback)) {
    double value = 0;
    if (auto* whole = std::get_if<std::int64_t>(&given)) {
      value = static_cast<double>(*whole);
    } else if (auto* real = std::get_if<double>(&given)) {
      value = *real;
    } else {
      throw wrong("a number");
    }
    if (!(value >= 0 && value < 1)) throw wrong("a number from 0 to below 1");
    return value;
  }
  if (given.index() != spec.fallback.index()) {
    throw wrong(std::holds_alternative<bool>(spec.fallback) ? "true or false" : "text");
  }
  return given;
}

void check_words(const Node& node) {
  if (node.op == Op::kInput) {
    const std::string& dtype = node.word("dtype");
    if (dtype != "float" && dtype != "int") {
      throw bad_input(describe(node) + ": \"dtype\" must be \"float\" or \"int\", found \"" + dtype + "\"");
    }
    if (dtype == "int" && node.integer("classes") < 1) {
      throw bad_input(describe(node) + ": an int input needs \"classes\", the number of distinct values");
    }
  }
  auto one_of = [&](Op op, const char* attr, std::initializer_list<const char*> known) {
    if (node.op != op) return;
    std::string list;
    for (const char* k : known) {
      if (node.word(attr) == k) return;
      list += std::string(list.empty() ? "\"" : ", \"") + k + "\"";
    }
    throw bad_input(describe(node) + ": \"" + attr + "\" must be one of " + list);
  };
  one_of(Op::kEncoderLayer, "activation", {"relu", "gelu"});
  one_of(Op::kGelu, "approximate", {"none", "tanh"});
  one_of(Op::kAttentionCore, "mask", {"none", "causal", "additive"});
  one_of(Op::kUpsample, "mode", {"nearest", "bilinear"});
}

}  // namespace

std::string describe(const Node& node) { return "node \"" + node.name + "\" (" + name_of(node.op) + ")"; }

int Network::add(Op op, std::vector<int> inputs, Attrs attrs, std::string name) {
  const int index = static_cast<int>(nodes_.size());
  const OpSpec& spec = spec_of(op);
  if (name.empty()) name = spec.name + std::to_string(index);
  Node node{std::move(name), op, {}, std::move(inputs)};

  if (names_.count(node.name) > 0) throw bad_input(describe(node) + ": another node has the same name");
  const int count = static_cast<int>(node.inputs.size());
  if (count < spec.min_inputs || count > spec.max_inputs) {
    const bool few = count < spec.min_inputs;
    const std::string wanted = spec.max_inputs == spec.min_inputs ? "" : few ? "at least " : "at most ";
    throw bad_input(describe(node) + ": needs " + wanted +
                    std::to_string(few ? spec.min_inputs : spec.max_inputs) + " inputs, found " +
                    std::to_string(count));
  }
  for (int input : node.inputs) {
    if (input < 0 || input >= index) throw bad_input(describe(node) + ": reads a node that is not before it");
  }
  for (const AttrSpec& a : spec.attrs) {
    auto given = attrs.find(a.name);
    if (given == attrs.end()) {
      if (a.required) throw bad_input(describe(node) + ": attribute \"" + a.name + "\" is missing");
      node.attrs[a.name] = a.fallback;
    } else {
      node.attrs[a.name] = checked(node, a, given->second);
      attrs.erase(given);
    }
  }
  if (!attrs.empty())
    throw bad_input(describe(node) + ": unknown attribute \"" + attrs.begin()->first + "\"");
  check_words(node);
  names_.insert(node.name);
  nodes_.push_back(std::move(node));
  return index;
}

void Network::set_outputs(std::vector<int> outputs) {
  for (int o : outputs) {
    if (o < 0 || o >= static_cast<int>(nodes_.size()))
      throw bad_input("network " + name_ + ": no such output node");
  }
  outputs_ = std::move(outputs);
}

std::vector<int> Network::outputs() const {
  if (!outputs_.empty() || nodes_.empty()) return outputs_;
  return {static_cast<int>(nodes_.size()) - 1};
}

std::vector<std::vector<int>> Network::consumers() const {
  std::vector<std::vector<int>> readers(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (int input : nodes_[i].inputs)
      readers[static_cast<std::size_t>(input)].push_back(static_cast<int>(i));
  }
  return readers;
}

std::optional<std::int64_t> captured_batch(const Network& network) {
  for (const Node& node : network.nodes()) {
    if (node.op == Op::kCalls && node.integer("batch") > 0) return node.integer("batch");
  }
  return std::nullopt;
}

}  // namespace ampere

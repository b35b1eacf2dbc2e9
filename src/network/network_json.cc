#include "network/network_json.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace ampere {
namespace {

constexpr std::size_t kMaxNodes = 20000;

}  // namespace

Json attr_to_json(const AttrValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

AttrValue attr_from_json(const Json& value, const std::string& where, const std::string& key) {
  auto in_range = [](const Json& v) {
    return !v.is_number_unsigned() || v.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
  };
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer() && in_range(value)) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  const bool whole = value.is_array() && std::all_of(value.begin(), value.end(), [&](const Json& v) {
                       return v.is_number_integer() && in_range(v);
                     });
  if (whole) return value.get<std::vector<std::int64_t>>();
  throw bad_input(where + ": attribute \"" + key +
                  "\" must be a number, true or false, text or a list of whole numbers");
}

namespace {

std::string known_ops() {
  std::string list;
  for (const OpSpec& spec : all_ops()) list += std::string(list.empty() ? "" : ", ") + spec.name;
  return list;
}

}  // namespace

Json network_to_json(const Network& network) {
  Json nodes = Json::array();
  for (const Node& node : network.nodes()) {
    Json j = {{"name", node.name}, {"op", name_of(node.op)}};
    for (const AttrSpec& spec : spec_of(node.op).attrs) {
      const AttrValue& value = node.attrs.at(spec.name);
      if (spec.required || value != spec.fallback) j[spec.name] = attr_to_json(value);
    }
    if (!node.inputs.empty()) {
      Json inputs = Json::array();
      for (int i : node.inputs) inputs.push_back(network.nodes()[static_cast<std::size_t>(i)].name);
      j["inputs"] = std::move(inputs);
    }
    nodes.push_back(std::move(j));
  }
  Json outputs = Json::array();
  for (int i : network.outputs()) outputs.push_back(network.nodes()[static_cast<std::size_t>(i)].name);
  return {{"schema_version", 1},
          {"name", network.name()},
          {"nodes", std::move(nodes)},
          {"outputs", std::move(outputs)}};
}

Network network_from_json(const Json& json, const std::string& where) {
  JsonReader top(json, where);
  top.only({"$schema", "schema_version", "name", "nodes", "outputs"});
  if (std::int64_t version = top.integer("schema_version", 1); version != 1) {
    throw bad_input(where + ": schema_version " + std::to_string(version) +
                    " is not known to this version of ampere (it reads 1); update ampere");
  }
  Network network(top.text("name", "network"));
  std::map<std::string, int> index_of;
  auto find = [&](const Json& name, const std::string& reader) {
    auto it = name.is_string() ? index_of.find(name.get<std::string>()) : index_of.end();
    if (it == index_of.end()) {
      throw bad_input(reader + ": reads " + name.dump(-1, ' ', true, Json::error_handler_t::replace) +
                      ", but no earlier node has that name");
    }
    return it->second;
  };

  const Json& nodes = top.array("nodes");
  if (nodes.empty())
    throw bad_input(where + ": \"nodes\" is empty; a network needs at least an input and a layer");
  if (nodes.size() > kMaxNodes)
    throw bad_input(where + ": more than " + std::to_string(kMaxNodes) + " nodes");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string place = where + ": node " + std::to_string(i);
    JsonReader r(nodes[i], place);
    const std::string name = r.text("name", "");
    const std::string named = name.empty() ? place : where + ": node \"" + name + "\"";
    const OpSpec* spec = find_op(r.text("op"));
    if (!spec) throw bad_input(named + ": unknown op \"" + r.text("op") + "\" (known: " + known_ops() + ")");
    Attrs attrs;
    for (const auto& [key, value] : nodes[i].items()) {
      if (key == "name" || key == "op" || key == "inputs") continue;
      attrs[key] = attr_from_json(value, named, key);
    }
    std::vector<int> inputs;
    if (r.has("inputs")) {
      for (const Json& input : r.array("inputs")) inputs.push_back(find(input, named));
    } else if (spec->min_inputs == 1 && i > 0) {
      inputs.push_back(static_cast<int>(i) - 1);  // a chain needs no names
    }
    int index = 0;
    try {
      index = network.add(spec->op, std::move(inputs), std::move(attrs), name);
    } catch (const Error& e) {
      throw bad_input(where + ": " + e.what());
    }
    index_of[network.nodes()[static_cast<std::size_t>(index)].name] = index;
  }
  if (top.has("outputs")) {
    std::vector<int> outputs;
    for (const Json& output : top.array("outputs")) outputs.push_back(find(output, where + ": \"outputs\""));
    network.set_outputs(std::move(outputs));
  }
  return network;
}

Network read_network_file(const std::string& path) { return network_from_json(read_json_file(path), path); }

}  // namespace ampere

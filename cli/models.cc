// ampere models: the networks known by name, and the ops a network file may use.
#include <fmt/core.h>

#include <memory>

#include "answers/models_answer.h"
#include "common.h"
#include "network/cost.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

const char* type_name(const AttrValue& value) {
  static const char* names[] = {"integer", "number", "boolean", "string", "integers"};
  return names[value.index()];
}

Json ops_json() {
  Json ops = Json::array();
  for (const OpSpec& op : all_ops()) {
    Json attributes = Json::array();
    for (const AttrSpec& a : op.attrs) {
      attributes.push_back({{"name", a.name}, {"type", type_name(a.fallback)}, {"required", a.required}});
    }
    ops.push_back({{"name", op.name},
                   {"min_inputs", op.min_inputs},
                   {"max_inputs", op.max_inputs},
                   {"attributes", attributes}});
  }
  return {{"schema_version", kOutputSchemaVersion}, {"ops", ops}};
}

void print_ops() {
  Table table{{"op", "inputs", "attributes"}, {}, {}, 2};
  for (const OpSpec& op : all_ops()) {
    std::string attributes;
    for (const AttrSpec& a : op.attrs)
      attributes += std::string(attributes.empty() ? "" : ", ") + a.name + (a.required ? "*" : "");
    const std::string inputs =
        op.max_inputs == op.min_inputs ? std::to_string(op.min_inputs) : std::to_string(op.min_inputs) + "+";
    table.rows.push_back({op.name, inputs, attributes});
  }
  print(table);
  print("* required\n");
}

void print_zoo(bool json) {
  if (json) return print_json(zoo_json());
  Table table{{"network", "parameters", "weights", "what it is"}, {}, {false, false, true, false}, 3};
  for (const ZooEntry& entry : zoo()) {
    const double weights = network_cost(build(parse_zoo(entry.name)), 1).parameters;
    std::string names;
    for (const ZooParameter& p : entry.parameters)
      names += fmt::format("{}{}={}", names.empty() ? "" : ",", p.name, p.value);
    table.rows.push_back({entry.name, names, count_text(weights), entry.description});
  }
  print(table);
}

}  // namespace

void add_models(CLI::App& app) {
  auto options = std::make_shared<CommonOptions>();
  auto ops = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("models", "Networks known by name, with their parameters");
  add_output_options(*verb, *options);
  verb->add_flag("--ops", *ops, "The ops that network files may use instead");
  verb->callback([options, ops] {
    if (*ops)
      options->json ? print_json(ops_json()) : print_ops();
    else
      print_zoo(options->json);
  });
}

}  // namespace ampere

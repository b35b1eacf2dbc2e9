#include "command_tree.h"

#include <sstream>

namespace ampere {
namespace {

// "TEXT:{sgd,momentum,adam}" -> {"sgd", "momentum", "adam"}
std::vector<std::string> choices_in(const std::string& type) {
  const auto open = type.find('{');
  const auto close = type.find('}', open);
  std::vector<std::string> out;
  if (open == std::string::npos || close == std::string::npos) return out;
  std::istringstream list(type.substr(open + 1, close - open - 1));
  for (std::string choice; std::getline(list, choice, ',');) out.push_back(choice);
  return out;
}

CommandOption described(const CLI::Option& option) {
  CommandOption out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.description = option.get_description();
  out.environment = option.get_envname();
  out.required = option.get_required();
  out.many = option.get_items_expected_max() > 1;
  if (option.get_items_expected_max() == 0) return out;  // a flag
  const std::string type = option.get_type_name();
  out.choices = choices_in(type);
  out.value = out.names.empty() ? option.get_name(true) : type.substr(0, type.find_first_of(" :"));
  return out;
}

Command described(const CLI::App& app, std::vector<std::string> path) {
  Command out;
  path.push_back(app.get_name());
  out.path = path;
  out.description = app.get_description();
  out.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options({}))
    (option->get_positional() ? out.positionals : out.options).push_back(described(*option));
  for (const CLI::App* command : app.get_subcommands({})) out.commands.push_back(described(*command, path));
  return out;
}

}  // namespace

std::string Command::words() const {
  std::string out;
  for (const std::string& word : path) out += (out.empty() ? "" : " ") + word;
  return out;
}

Command command_tree(const CLI::App& app) { return described(app, {}); }

}  // namespace ampere

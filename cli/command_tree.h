// The command line described as data, read from the program's own options, so that completion and manual page
// never say anything else than --help does.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ampere {

struct CommandOption {
  std::vector<std::string> names;    // "-b", "--batch"; empty for a positional one
  std::string value;                 // what it takes: "INT", "MODEL"; empty for a flag
  std::vector<std::string> choices;  // when only these are allowed
  std::string description;
  std::string environment;  // variable that sets it too
  bool required = false;
  bool many = false;  // may be given several values
};

struct Command {
  std::vector<std::string> path;  // {"ampere", "store", "list"}
  std::string description;
  std::string footer;
  std::vector<CommandOption> options;
  std::vector<CommandOption> positionals;
  std::vector<Command> commands;
  std::string words() const;  // "ampere store list"
};

Command command_tree(const CLI::App& app);

}  // namespace ampere

// ampere completion SHELL: a script that makes the shell complete verbs, options, their values, and networks.
#include <fmt/core.h>

#include <functional>
#include <memory>

#include "command_tree.h"
#include "network/zoo.h"
#include "verbs.h"

namespace ampere {
namespace {

using Visit = std::function<void(const Command&)>;
void each_command(const Command& command, const Visit& visit) {
  visit(command);
  for (const Command& c : command.commands) each_command(c, visit);
}

std::string joined(const std::vector<std::string>& words, const std::string& between = " ") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// Text inside single quotes.
std::string in_quotes(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + out + "'";
}

std::string networks() {
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo()) names.push_back(entry.name);
  return joined(names);
}

bool takes_model(const Command& command) {
  for (const CommandOption& p : command.positionals) {
    if (p.value == "MODEL") return true;
  }
  return false;
}

std::string bash(const Command& root) {
  std::string cases, values;
  each_command(root, [&](const Command& c) {
    std::vector<std::string> words;
    for (const Command& sub : c.commands) words.push_back(sub.path.back());
    for (const CommandOption& p : c.positionals) words.push_back(joined(p.choices));
    std::string own;
    for (const CommandOption& o : c.options) {
      words.push_back(joined(o.names));
      if (o.value.empty()) continue;
      own += fmt::format("    {}) {} ;;\n", joined(o.names, "|"),
                         o.choices.empty()
                             ? "COMPREPLY=($(compgen -f -- \"$word\"))"
                             : "COMPREPLY=($(compgen -W " + in_quotes(joined(o.choices)) + " -- \"$word\"))");
    }
    const std::string models = takes_model(c) ? " " + networks() : "";
    cases += fmt::format("    {}) words={} ;;\n", in_quotes(c.words()), in_quotes(joined(words) + models));
    if (!own.empty()) {
      values += fmt::format("    {}) case $before in\n{}    *) return 1 ;;\n    esac ;;\n",
                            in_quotes(c.words()), own);
    }
  });
  std::string verbs;
  each_command(root, [&](const Command& c) {
    for (const Command& sub : c.commands)
      verbs += fmt::format("      {}) command={} ;;\n", in_quotes(c.words() + "/" + sub.path.back()),
                           in_quotes(sub.words()));
  });
  return R"(# bash completion of ampere; load it with: source <(ampere completion bash)
_ampere_value() {
  local command=$1 before=$2 word=$3
  case $command in
)" + values +
         R"(    *) return 1 ;;
  esac
}
_ampere() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=ampere words= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command/${COMP_WORDS[i]}" in
)" + verbs +
         R"(    esac
  done
  _ampere_value "$command" "$before" "$word" && return
  case $command in
)" + cases +
         R"(  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [[ $word == -* ]] || COMPREPLY+=($(compgen -f -- "$word"))
}
complete -o filenames -F _ampere ampere
)";
}

// Text inside the brackets and behind the colons of _arguments.
std::string for_zsh(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_arguments(const Command& c) {
  std::string out = "_arguments -s";
  for (const CommandOption& o : c.options) {
    std::string action;
    if (!o.value.empty())
      action = ":" + for_zsh(o.value) + ":" + (o.choices.empty() ? "_files" : "(" + joined(o.choices) + ")");
    const std::string help = "[" + for_zsh(o.description) + "]";
    for (const std::string& name : o.names) {
      const std::string others = o.names.size() > 1 ? "(" + joined(o.names) + ")" : "";
      out += " \\\n      " + in_quotes((o.many ? "*" : others) + name + help + action);
    }
  }
  for (const CommandOption& p : c.positionals) {
    const std::string values =
        p.value == "MODEL"   ? "{_alternative \"zoo:network:(" + networks() + ")\" \"files:file:_files\"}"
        : !p.choices.empty() ? "(" + joined(p.choices) + ")"
                             : "_files";
    out += " \\\n      " + in_quotes((p.many ? "*:" : ":") + for_zsh(p.value) + ":" + values);
  }
  return out;
}

std::string zsh_function(const Command& c) {
  const std::string name = "_" + joined(c.path, "_");
  if (c.commands.empty()) return fmt::format("{}() {{\n  {}\n}}\n", name, zsh_arguments(c));
  std::string verbs, cases, inner;
  for (const Command& sub : c.commands) {
    verbs += "\n    " + in_quotes(for_zsh(sub.path.back()) + ":" + sub.description);
    cases += fmt::format("        {}) _{} ;;\n", sub.path.back(), joined(sub.path, "_"));
    inner += zsh_function(sub);
  }
  return inner + fmt::format(
                     "{0}() {{\n  local context state state_descr line\n  typeset -A opt_args\n  local -a "
                     "verbs=({1})\n"
                     "  {2} \\\n      '1: :->verb' '*:: :->rest'\n  case $state in\n    verb) _describe verb "
                     "verbs ;;\n"
                     "    rest)\n      case $line[1] in\n{3}      esac ;;\n  esac\n}}\n",
                     name, verbs, zsh_arguments(c).replace(0, 13, "_arguments -C"), cases);
}

std::string zsh(const Command& root) {
  return "#compdef ampere\n# zsh completion of ampere; keep it as _ampere in a folder of $fpath\n" +
         zsh_function(root) +
         "if [[ $funcstack[1] == _ampere ]]; then _ampere \"$@\"; else compdef _ampere ampere; fi\n";
}

std::string fish(const Command& root) {
  std::string out = "# fish completion of ampere; load it with: ampere completion fish | source\n";
  each_command(root, [&](const Command& c) {
    // In the command, and in none of its subcommands.
    std::vector<std::string> inside(c.path.begin() + 1, c.path.end()), deeper;
    std::string when;
    for (const std::string& word : inside)
      when += (when.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
    for (const Command& sub : c.commands) deeper.push_back(sub.path.back());
    if (inside.empty())
      when = "not __fish_seen_subcommand_from " + joined(deeper);
    else if (!deeper.empty())
      when += "; and not __fish_seen_subcommand_from " + joined(deeper);
    const std::string start = "complete -c ampere -n " + in_quotes(when);
    for (const Command& sub : c.commands)
      out += start + " -f -a " + sub.path.back() + " -d " + in_quotes(sub.description) + "\n";
    for (const CommandOption& o : c.options) {
      out += start;
      for (const std::string& name : o.names)
        out += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!o.value.empty()) out += " -r";
      if (!o.choices.empty()) out += " -f -a " + in_quotes(joined(o.choices));
      out += " -d " + in_quotes(o.description) + "\n";
    }
    for (const CommandOption& p : c.positionals) {
      if (p.value == "MODEL") out += start + " -a " + in_quotes(networks()) + "\n";
      if (!p.choices.empty()) out += start + " -f -a " + in_quotes(joined(p.choices)) + "\n";
    }
  });
  return out;
}

}  // namespace

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("completion", "A script that completes commands in your shell");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->callback([shell, &app] {
    const Command root = command_tree(app);
    fmt::print("{}", *shell == "bash" ? bash(root) : *shell == "zsh" ? zsh(root) : fish(root));
  });
}

}  // namespace ampere

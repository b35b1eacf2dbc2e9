// ampere man: the manual page, made from the options themselves.
#include <fmt/core.h>

#include "ampere/version.h"
#include "command_tree.h"
#include "verbs.h"

namespace ampere {
namespace {

// Text that troff takes as it is: no escapes, no line that starts like a request.
std::string plain(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool line_start = i == 0 || text[i - 1] == '\n';
    if (line_start && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\')
      out += "\\e";
    else if (text[i] == '-')
      out += "\\-";
    else
      out += text[i];
  }
  return out;
}

std::string term(const CommandOption& o) {
  std::string names;
  for (const std::string& name : o.names) names += (names.empty() ? "\\fB" : "\\fR, \\fB") + plain(name);
  std::string value = o.value;
  if (!o.choices.empty()) {
    value.clear();
    for (const std::string& choice : o.choices) value += (value.empty() ? "" : "|") + choice;
  }
  if (names.empty()) return "\\fI" + plain(o.value) + "\\fR";
  return names + "\\fR" + (value.empty() ? "" : " \\fI" + plain(value) + "\\fR");
}

void print_options(const std::vector<CommandOption>& options) {
  for (const CommandOption& o : options) {
    const std::string more = o.environment.empty() ? "" : " [" + o.environment + "]";
    fmt::print(".TP\n{}\n{}\n", term(o), plain(o.description + more));
  }
}

std::string synopsis(const Command& c) {
  std::string out = "\\fB" + plain(c.words()) + "\\fR";
  for (const CommandOption& p : c.positionals) {
    const std::string name = "\\fI" + plain(p.value) + "\\fR" + (p.many ? "..." : "");
    out += p.required ? " " + name : " [" + name + "]";
  }
  return out + " [\\fIOPTION\\fR...]";
}

void print_verbs(const Command& command, const std::string& general) {
  for (const Command& c : command.commands) {
    if (c.commands.empty()) {
      fmt::print(".SS {}\n{}.\n.PP\n{}\n", plain(c.words()), plain(c.description), synopsis(c));
      print_options(c.positionals);
      print_options(c.options);
      if (c.footer != general) fmt::print(".PP\n{}\n", plain(c.footer));
    }
    print_verbs(c, general);
  }
}

void print_page(const Command& root) {
  fmt::print(".TH AMPERE 1 \"\" \"ampere {}\" \"User Commands\"\n", kVersion);
  fmt::print(".SH NAME\nampere \\- {}\n", plain(root.description.substr(root.description.find(": ") + 2)));
  fmt::print(".SH SYNOPSIS\n\\fBampere\\fR \\fIVERB\\fR [\\fIOPTION\\fR...]\n");
  fmt::print(
      ".SH DESCRIPTION\nAMPERE trains the layers of a network for a moment each on your device, with your "
      "energy "
      "meter, fits a Gaussian process per kind of layer, and tells energy and time of any network made of "
      "such "
      "layers, with an interval, without training it.\n.PP\n{}\n",
      plain(root.footer));
  fmt::print(".SH OPTIONS\n");
  print_options(root.options);
  fmt::print(".SH VERBS\n");
  print_verbs(root, root.footer);
  fmt::print(".SH ENVIRONMENT\n");
  for (const auto& [name, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"AMPERE_STORE", "File that measurements are kept in"},
           {"AMPERE_WORKER", "Command of the worker"},
           {"AMPERE_METER", "Energy meter"},
           {"AMPERE_WORKER_TIMEOUT", "Seconds that the worker may take to answer"},
           {"AMPERE_RECORD", "File that the conversation with the worker is kept in"},
           {"COLUMNS", "Width of tables when standard output is not a terminal"},
           {"NO_COLOR", "No escape sequences on standard error, even on a terminal"}})
    fmt::print(".TP\n\\fB{}\\fR\n{}\n", name, plain(what));
}

}  // namespace

void add_man(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("man", "The manual page, in troff: ampere man | man -l -");
  verb->callback([&app] { print_page(command_tree(app)); });
}

}  // namespace ampere

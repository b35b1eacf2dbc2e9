// ampere: how many joules will training this network take on this device, before anyone trains it?
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "ampere/version.h"
#include "base/error.h"
#include "base/json.h"
#include "text.h"
#include "verbs.h"

namespace {

// What is wrong with the command line, and where to look.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* verb = &app;
  std::string command = "ampere";
  for (auto given = verb->get_subcommands(); !given.empty(); given = verb->get_subcommands()) {
    verb = given.front();
    command += " " + verb->get_name();
  }
  std::string what = error.what();
  if (const std::string unknown = "INI was not able to parse "; what.rfind(unknown, 0) == 0)
    what = "the file of --config: there is no option \"" + what.substr(unknown.size()) + "\"";
  const auto verbs = verb->get_subcommands({});
  if (!verbs.empty() && dynamic_cast<const CLI::RequiredError*>(&error)) {
    const std::vector<std::string> rest = verb->remaining();
    what = rest.empty() ? "a verb is missing" : "there is no verb \"" + rest.front() + "\"";
    for (std::size_t i = 0; i < verbs.size(); ++i) what += (i ? ", " : " (known: ") + verbs[i]->get_name();
    what += ")";
  }
  return what + "; see: " + command + " --help";
}

// What is read from --config: an ordinary file of a size that options can have.
std::string config_problem(const std::string& path) {
  constexpr std::uintmax_t kMostBytes = 1u << 20;
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (!fs::exists(status)) return path + ": there is no such file";
  if (!fs::is_regular_file(status)) return path + ": is no ordinary file";
  if (fs::file_size(path, unknown) > kMostBytes || unknown) return path + ": larger than 1 MiB";
  return "";
}

// All verbs, or the one alone that is asked for: their options take longer to set up than most answers.
// `command` stands behind "--".
void add_verbs(CLI::App& app, const std::string& first, const std::vector<std::string>& command) {
  const std::pair<std::string, std::function<void(CLI::App&)>> verbs[] = {
      {"detect", ampere::add_detect},
      {"models", ampere::add_models},
      {"layers", ampere::add_layers},
      {"convert", ampere::add_convert},
      {"profile", ampere::add_profile},
      {"estimate", ampere::add_estimate},
      {"measure", [&](CLI::App& to) { ampere::add_measure(to, command); }},
      {"run", [&](CLI::App& to) { ampere::add_run(to, command); }},
      {"evaluate", ampere::add_evaluate},
      {"additivity", ampere::add_additivity},
      {"prune", ampere::add_prune},
      {"tune", ampere::add_tune},
      {"train", ampere::add_train},
      {"schedule", ampere::add_schedule},
      {"report", ampere::add_report},
      {"fleet", ampere::add_fleet},
      {"slurm", ampere::add_slurm},
      {"serve", ampere::add_serve},
      {"store", ampere::add_store},
      {"completion", ampere::add_completion},
      {"man", ampere::add_man}};
  if (first == "--version") return;
  const bool tells_of_all = first == "completion" || first == "man";
  const bool alone = !tells_of_all && std::any_of(std::begin(verbs), std::end(verbs),
                                                  [&](const auto& verb) { return verb.first == first; });
  for (const auto& [name, add] : verbs) {
    if (!alone || name == first) add(app);
  }
}

int failed(const std::string& message, int code) {
  // What is not profiled yet is a list of layer kinds, which all have to be seen.
  const bool list = code == ampere::exit_code(ampere::ErrorKind::kNotProfiled);
  ampere::put_message(message, list ? 10 * ampere::kUsualMessage : ampere::kUsualMessage);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  // Whatever is opened next would else take the place of a closed one, and get what is printed or said there.
  for (int file = 0; file < 3; ++file) {
    if (fcntl(file, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return 1;
  }
  // What stands behind "--" is a program of the user's, not options of ours.
  const auto dashes =
      std::find_if(argv, argv + argc, [](const char* word) { return std::strcmp(word, "--") == 0; });
  const std::vector<const char*> ours(argv, dashes);
  const std::vector<std::string> command(dashes == argv + argc ? dashes : dashes + 1, argv + argc);
  CLI::App app{"ampere: the energy of training a network on a device, before anyone trains it", "ampere"};
  app.set_version_flag("--version", ampere::kVersion);
  app.set_config("--config", "", "Read options from a file (TOML or INI)")->check(config_problem);
  app.allow_config_extras(false);  // a misspelt option is told, not ignored
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer(
      "A MODEL is a zoo name (\"lenet5\", \"resnet18:w1=32\", see ampere models) or a .json, .onnx or .pt "
      "file\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 3 no usable meter, 4 over budget,\n"
      "5 measurement unstable, 6 not profiled yet.");
  add_verbs(app, ours.size() > 1 ? ours[1] : "", command);
  try {
    app.parse(static_cast<int>(ours.size()), ours.data());
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return failed("standard output cannot be written; is the disk full?", 1);
    return 0;
  } catch (const CLI::RuntimeError& e) {
    return e.get_exit_code();
  } catch (const CLI::ParseError& e) {
    // Asking for help is no error; everything else about the command line is exit code 2.
    if (e.get_exit_code() == 0) return app.exit(e);
    return failed(usage_error(app, e), 2);
  } catch (const ampere::Error& e) {
    return failed(e.what(), ampere::exit_code(e.kind()));
  } catch (const ampere::Json::exception&) {
    // Whoever reads foreign JSON says where it is wrong; this is for what nobody thought of.
    return failed("something that was read has a field that is missing or of another type", 1);
  } catch (const std::exception& e) {
    return failed(e.what(), 1);
  }
}

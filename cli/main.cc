// ampere: how many joules will training this network take on this device, before anyone trains it?
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "ampere/version.h"
#include "base/error.h"
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
  const auto verbs = verb->get_subcommands({});
  if (!verbs.empty() && dynamic_cast<const CLI::RequiredError*>(&error)) {
    const std::vector<std::string> rest = verb->remaining();
    what = rest.empty() ? "a verb is missing" : "there is no verb \"" + rest.front() + "\"";
    for (std::size_t i = 0; i < verbs.size(); ++i) what += (i ? ", " : " (known: ") + verbs[i]->get_name();
    what += ")";
  }
  return what + "; see: " + command + " --help";
}

int failed(const std::string& message, int code) {
  std::fprintf(stderr, "ampere: %s\n", message.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  // What stands behind "--" is a program of the user's, not options of ours.
  const auto dashes =
      std::find_if(argv, argv + argc, [](const char* word) { return std::strcmp(word, "--") == 0; });
  const std::vector<const char*> ours(argv, dashes);
  const std::vector<std::string> command(dashes == argv + argc ? dashes : dashes + 1, argv + argc);
  CLI::App app{"ampere: the energy of training a network on a device, before anyone trains it", "ampere"};
  app.set_version_flag("--version", ampere::kVersion);
  app.set_config("--config", "", "Read options from a file (TOML or INI)");
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer(
      "A MODEL is a zoo name (\"lenet5\", \"resnet18:w1=32\", see ampere models) or a .json, .onnx or .pt "
      "file\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 3 no usable meter, 4 over budget,\n"
      "5 measurement unstable, 6 not profiled yet.");
  ampere::add_detect(app);
  ampere::add_models(app);
  ampere::add_layers(app);
  ampere::add_convert(app);
  ampere::add_profile(app);
  ampere::add_estimate(app);
  ampere::add_measure(app, command);
  ampere::add_evaluate(app);
  ampere::add_additivity(app);
  ampere::add_prune(app);
  ampere::add_train(app);
  ampere::add_schedule(app);
  ampere::add_report(app);
  ampere::add_store(app);
  ampere::add_completion(app);
  ampere::add_man(app);
  try {
    app.parse(static_cast<int>(ours.size()), ours.data());
    if (std::fflush(stdout) != 0) return failed("standard output cannot be written; is the disk full?", 1);
    return 0;
  } catch (const CLI::RuntimeError& e) {
    return e.get_exit_code();
  } catch (const CLI::ParseError& e) {
    // Asking for help is no error; everything else about the command line is exit code 2.
    if (e.get_exit_code() == 0) return app.exit(e);
    return failed(usage_error(app, e), 2);
  } catch (const ampere::Error& e) {
    return failed(e.what(), ampere::exit_code(e.kind()));
  } catch (const std::exception& e) {
    return failed(e.what(), 1);
  }
}

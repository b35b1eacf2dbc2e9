// ampere: how many joules will training this network take on this device, before anyone trains it?
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "base/error.h"
#include "verbs.h"

int main(int argc, char** argv) {
  CLI::App app{"ampere: the energy of training a network on a device, before anyone trains it", "ampere"};
  app.set_version_flag("--version", AMPERE_VERSION);
  app.set_config("--config", "", "Read options from a file (TOML or INI)");
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer(
      "A MODEL is a zoo name (\"lenet5\", \"resnet18:w1=32\", see ampere models) or a network file (.json).\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 3 no usable meter, 4 over budget,\n"
      "5 measurement unstable, 6 not profiled yet.");
  ampere::add_detect(app);
  ampere::add_models(app);
  ampere::add_layers(app);
  ampere::add_profile(app);
  ampere::add_estimate(app);
  ampere::add_measure(app);
  ampere::add_evaluate(app);
  ampere::add_store(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError& e) {
    return e.get_exit_code();
  } catch (const CLI::ParseError& e) {
    // Asking for help is no error; everything else about the command line is exit code 2.
    if (e.get_exit_code() == 0) return app.exit(e);
    app.exit(e);
    return 2;
  } catch (const ampere::Error& e) {
    std::fprintf(stderr, "ampere: %s\n", e.what());
    return ampere::exit_code(e.kind());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ampere: %s\n", e.what());
    return 1;
  }
}

// ampere-worker: trains the networks it is sent and meters them. docs/protocol.md says how to talk to it.
#include <csignal>
#include <cstdio>
#include <string>

#include "ampere/version.h"
#include "base/error.h"
#include "worker/hang_up.h"
#include "worker/program.h"
#include "worker/session.h"
#include "worker/torch_device.h"
#include "worker/trace.h"
#include "worker/translate.h"

namespace {

constexpr const char* kHelp =
    "usage: ampere-worker [--device cpu|cuda|auto] [--meter NAME] [--threads N]\n"
    "\n"
    "Reads requests from standard input and answers on standard output, one JSON object a line.\n"
    "Started by ampere; try it by hand with:\n"
    "  echo '{\"id\": 1, \"verb\": \"detect\"}' | ampere-worker\n"
    "\n"
    "  --device cpu|cuda|auto  what to train on (auto: an accelerator where there is one)\n"
    "  --meter NAME            energy meter for requests that name none\n"
    "  --threads N             CPU threads for requests that do not say (1)\n"
    "  --tracer on|off         on: run TorchScript files in this process and then open no file any more "
    "(off)\n"
    "  --version, --help\n";

bool on_or_off(const std::string& name, const std::string& text) {
  if (text != "on" && text != "off")
    throw ampere::bad_input(name + " must be on or off, found \"" + text + "\"");
  return text == "on";
}

ampere::worker::SessionOptions options_from(int argc, char** argv) {
  ampere::worker::SessionOptions options;
  bool tracer = false;
  for (const auto& [name, value] : ampere::worker::arguments(argc, argv)) {
    if (name == "--device") {
      options.device = value;
    } else if (name == "--meter") {
      options.meter = value;
    } else if (name == "--threads") {
      options.threads = ampere::worker::threads_from(value);
    } else if (name == "--tracer") {
      tracer = on_or_off(name, value);
    } else {
      throw ampere::bad_input("unknown argument " + name);
    }
  }
  // Strangers' files are run by a process of their own; this one may be that.
  options.trace.locked = tracer;
  if (tracer) {
    ampere::worker::end_with_parent();
  } else {
    options.trace.tracer = ampere::worker::tracer_command();
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") return std::fputs(kHelp, stdout) < 0;
    if (argument == "--version") {
      return std::printf("ampere-worker %s (%s)\n", ampere::kVersion,
                         ampere::worker::framework_name().c_str()) < 0;
    }
  }
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const ampere::worker::SessionOptions options = options_from(argc, argv);
    std::FILE* out = ampere::worker::take_over_stdout();
    if (!out) throw ampere::Error(ampere::ErrorKind::kFailed, "standard output is closed");
    ampere::worker::end_when_unheard(fileno(out));
    ampere::worker::Session session(options);
    return ampere::worker::serve(session, stdin, out);
  } catch (...) {
    const ampere::Error error = ampere::worker::translate(std::current_exception());
    std::fprintf(stderr, "ampere-worker: %s\n", error.what());
    return ampere::exit_code(error.kind());
  }
}

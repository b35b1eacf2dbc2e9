// ampere-worker-onednn: trains the networks it is sent and meters them, without LibTorch. docs/protocol.md
// says how to talk to it, docs/engines.md what it is for.
#include <csignal>
#include <cstdio>
#include <string>

#include "ampere/version.h"
#include "base/error.h"
#include "onednn/device.h"
#include "worker/basic_session.h"
#include "worker/hang_up.h"
#include "worker/program.h"

namespace {

constexpr const char* kHelp =
    "usage: ampere-worker-onednn [--meter NAME] [--threads N]\n"
    "\n"
    "Reads requests from standard input and answers on standard output, one JSON object a line.\n"
    "Started by ampere: ampere profile lenet5 --worker ampere-worker-onednn\n"
    "\n"
    "  --meter NAME   energy meter for requests that name none\n"
    "  --threads N    CPU threads for requests that do not say (1)\n"
    "  --version, --help\n";

ampere::worker::WorkerOptions options_from(int argc, char** argv) {
  ampere::worker::WorkerOptions options{"ampere-worker-onednn", "", 1};
  for (const auto& [name, value] : ampere::worker::arguments(argc, argv)) {
    if (name == "--meter") {
      options.meter = value;
    } else if (name == "--threads") {
      options.threads = ampere::worker::threads_from(value);
    } else {
      throw ampere::bad_input("unknown argument " + name);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") return std::fputs(kHelp, stdout) < 0;
    if (argument == "--version") {
      return std::printf("ampere-worker-onednn %s (%s)\n", ampere::kVersion,
                         ampere::onednn::framework_name().c_str()) < 0;
    }
  }
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const ampere::worker::WorkerOptions options = options_from(argc, argv);
    std::FILE* out = ampere::worker::take_over_stdout();
    if (!out) throw ampere::Error(ampere::ErrorKind::kFailed, "standard output is closed");
    ampere::worker::end_when_unheard(fileno(out));
    ampere::worker::BasicSession session(ampere::onednn::open_processor(), options);
    return ampere::worker::serve(session, stdin, out);
  } catch (const ampere::Error& error) {
    std::fprintf(stderr, "ampere-worker-onednn: %s\n", error.what());
    return ampere::exit_code(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ampere-worker-onednn: %s\n", error.what());
    return 1;
  }
}

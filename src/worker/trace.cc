#include "worker/trace.h"

#include <signal.h>
#include <sys/prctl.h>

#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "protocol/messages.h"
#include "protocol/process.h"
#include "worker/script_file.h"

namespace ampere::worker {
namespace {

using Clock = Process::Clock;

constexpr double kStartSeconds = 60;  // LibTorch takes its time
constexpr auto kGrace = std::chrono::milliseconds(500);

Clock::time_point deadline_in(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Process::Outcome exchange(Process& tracer, const Request& request, double seconds, std::string* line) {
  const auto deadline = deadline_in(seconds);
  tracer.write_line(to_line(request), deadline);
  return tracer.read_line(line, deadline);
}

Json trace_elsewhere(const TraceRequest& request, const Json& params, const std::string& command) {
  Process tracer(command);
  std::string line;
  if (exchange(tracer, {1, "hello", Json::object()}, kStartSeconds, &line) != Process::Outcome::kLine)
    throw Error(ErrorKind::kFailed,
                "the process that loads TorchScript files did not start (" + command + ")");
  const Process::Outcome outcome = exchange(tracer, {2, "trace", params}, request.limit_s, &line);
  if (outcome == Process::Outcome::kLate) {
    throw bad_input(request.path + ": its forward pass did not end within " + Json(request.limit_s).dump() +
                    " s; it may be too large for this processor, or loop for ever");
  }
  if (outcome == Process::Outcome::kTooLong)
    throw bad_input(request.path + ": too many ops in one forward pass");
  if (outcome == Process::Outcome::kEnd) {
    throw bad_input(request.path + ": loading and running it ended the process that tried (" +
                    tracer.end(kGrace).text() + "); the file is damaged, or needs more memory than there is");
  }
  Response response = response_from_line(line);
  if (response.error) throw *response.error;
  return std::move(response.result);
}

}  // namespace

Json trace(const Json& params, const TraceOptions& options) {
  const TraceRequest request = trace_request_from_json(params);
  require_file(request.path);
  if (!options.tracer.empty()) return trace_elsewhere(request, params, options.tracer);
  return to_json(run_script_file(request, options.locked));
}

std::string tracer_command() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : "exec " + shell_quoted(self.string()) + " --device cpu --tracer on";
}

void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

}  // namespace ampere::worker

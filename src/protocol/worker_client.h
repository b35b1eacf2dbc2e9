// Talking to a worker: starts it, asks, and survives it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "measure/measurement.h"
#include "measure/request.h"
#include "network/recorded_pass.h"
#include "protocol/trace_request.h"

namespace ampere {

class Process;
class Recording;

struct WorkerOptions {
  std::string command;          // a shell command line: "ampere-worker", "ssh jetson ampere-worker"
  double hello_seconds = 60;    // a worker far away takes its time to start
  double reply_seconds = 60;    // for requests that say nothing of their own length
  double measure_margin = 180;  // on top of a measurement's budget: building, compiling, warming up
  double trace_seconds = 60;    // for loading and running a TorchScript file
  int max_failures = 3;         // failures in a row after which it is not started again
  std::string record;           // file that every request and its answer is appended to; empty: none
  // How long a worker is waited for that was there before and cannot be started any more, because its board
  // sleeps or reboots or the connection broke. 0: not at all.
  double reconnect_seconds = 0;
  double first_pause_s = 1;  // between two attempts to start it; twice as long each time, up to 30 s
  // Gets a sentence when a worker is waited for, and when it is there again.
  std::function<void(const std::string&)> on_notice;
  // Gets what the worker writes to its standard error, as it comes; nothing is passed on without it.
  std::function<void(std::string_view)> on_stderr;
};

// Not thread-safe. When the worker dies, hangs or answers nonsense the call throws Error{kWorker} and
// the next one starts it anew; an error it reports is thrown with its kind, and it lives on. One that was
// lost instead, by a connection that broke or a board that went away, is waited for (reconnect_seconds) and
// asked again.
class WorkerClient {
 public:
  // Throws Error{kBadInput} when there is no writing to options.record.
  explicit WorkerClient(WorkerOptions options);
  ~WorkerClient();

  // The result of one request; the answer must come within `seconds`.
  Json call(const std::string& verb, const Json& params, double seconds);

  // `characterise`: also watch every usable meter for a moment.
  Json detect(bool characterise = false);
  // Watts with the framework up and nothing running: {"power_w", "meter", "modelled"}.
  Json idle(double seconds, const std::string& meter);
  Measurement measure(const MeasureRequest& request);
  // What one forward pass of a TorchScript file does. The time limit of the request is the worker's: see
  // WorkerOptions::trace_seconds.
  RecordedPass trace(TraceRequest request);

  // `check` gets what a worker that was started again answers to `detect`, and throws where that is another
  // device than before; nothing is then asked of it.
  void when_restarted(std::function<void(const Json&)> check) { check_ = std::move(check); }

  const std::string& command() const { return options_.command; }
  // True once it has failed max_failures times in a row: every further call throws at once.
  bool gave_up() const { return failures_ >= options_.max_failures; }

 private:
  Json ask(const std::string& verb, const std::string& task, const Json& params, double seconds);
  Json exchange(const std::string& verb, const std::string& task, const Json& params, double seconds);
  // True: the worker was away for a while, and waited for. `lost` says what happened to it before.
  bool start(const std::string& lost = "");
  void start_once();
  bool is_back_after(const Error& failure);
  [[noreturn]] void give_up(const std::string& why);
  void notice(const std::string& message) const;
  [[noreturn]] void fail(const std::string& task, const std::string& what, const std::string& advice);
  [[noreturn]] void fail_ended(const std::string& task);

  WorkerOptions options_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Recording> recording_;
  std::function<void(const Json&)> check_;
  std::int64_t next_id_ = 1;
  int failures_ = 0;
  bool was_there_ = false;  // it has said hello once
  bool lost_ = false;       // the last failure was that of a connection
  std::string given_up_;    // why; empty: max_failures
};

// $AMPERE_WORKER, else the ampere-worker beside this program, else the one on the path.
std::string default_worker_command();

}  // namespace ampere

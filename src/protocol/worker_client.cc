#include "protocol/worker_client.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/capped.h"
#include "meter/open.h"
#include "protocol/messages.h"
#include "protocol/process.h"
#include "protocol/recording.h"

namespace ampere {
namespace {

using Clock = Process::Clock;

constexpr double kLongestWait = 7 * 24 * 3600.0;
constexpr auto kGrace = std::chrono::milliseconds(500);
constexpr int kConnectionFailed = 255;  // what ssh ends with then; a worker of ours never does
constexpr double kLongestPause = 30;
constexpr const char* kSpeaksNonsense =
    "only answers may go to its standard output, one JSON object a line (docs/protocol.md)";

Clock::time_point deadline_in(double seconds) {
  const double bounded = seconds > 0 ? std::min(seconds, kLongestWait) : 0;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bounded));
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

// The end of what the worker wrote to standard error, in one line.
std::string tail(std::string text) {
  constexpr std::size_t kLongest = 600;
  if (text.size() > kLongest) text = "..." + text.substr(text.size() - kLongest);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', '|');
  return text;
}

std::string excerpt(const std::string& line) {
  return line.size() <= 200 ? line : line.substr(0, 197) + "...";
}

}  // namespace

WorkerClient::WorkerClient(WorkerOptions options) : options_(std::move(options)) {
  if (!options_.record.empty()) recording_ = std::make_unique<Recording>(options_.record);
}
WorkerClient::~WorkerClient() = default;

void WorkerClient::fail(const std::string& task, const std::string& what, const std::string& advice) {
  std::string words;
  if (process_) {
    process_->end();
    words = tail(process_->last_words());
    process_.reset();
  }
  ++failures_;
  lost_ = false;
  std::string message = "the worker (" + options_.command + ") " + capped(what) + " when asked to " + task;
  if (!words.empty()) message += "; its last words: " + words;
  message += "; " + advice;
  if (gave_up())
    message += "; it has failed " + std::to_string(failures_) + " times in a row and is given up";
  throw Error(ErrorKind::kWorker, message);
}

void WorkerClient::fail_ended(const std::string& task) {
  const ProcessEnd end = process_->end(kGrace);
  if (end.running) fail(task, "closed its standard output without an answer", "run it by hand to see why");
  if (end.signal == 0 && end.status == kConnectionFailed) {
    try {
      fail(task, "cannot be reached (exit status 255, which is ssh's)",
           "run it by hand to see why; it must not ask for anything, such as a password");
    } catch (const Error&) {
      lost_ = true;
      throw;
    }
  }
  const bool absent = end.signal == 0 && (end.status == 126 || end.status == 127);
  std::string advice = "run it by hand to see why";
  if (absent) advice = "name the command that starts it with --worker or AMPERE_WORKER";
  if (end.signal == SIGKILL) advice = "the machine may have run out of memory: try a smaller batch";
  fail(task, absent ? "cannot be run (" + end.text() + ")" : "died (" + end.text() + ")", advice);
}

void WorkerClient::start_once() {
  process_ = std::make_unique<Process>(options_.command, options_.on_stderr);
  const std::string task = "say hello";
  std::int64_t version = 0;
  try {
    const Json hello = exchange("hello", task, {{"protocol", kProtocolVersion}}, options_.hello_seconds);
    version = JsonReader(hello, "hello").integer("protocol");
  } catch (const Error& e) {
    if (!process_) throw;  // the exchange itself failed and said so
    fail(task, std::string("answered: ") + e.what(), "is it a worker of AMPERE at all?");
  }
  if (version != kProtocolVersion) {
    fail(task,
         "speaks protocol " + std::to_string(version) + " where this ampere speaks " +
             std::to_string(kProtocolVersion),
         version > kProtocolVersion ? "update ampere" : "update the worker");
  }
  if (was_there_ && check_) {
    try {
      check_(exchange("detect", "tell what it runs on", Json::object(), options_.reply_seconds));
    } catch (const Error&) {
      process_.reset();
      throw;
    }
  }
  was_there_ = true;
}

void WorkerClient::give_up(const std::string& why) {
  failures_ = std::max(failures_, options_.max_failures);
  given_up_ = why;
  throw Error(ErrorKind::kWorker, why);
}

void WorkerClient::notice(const std::string& message) const {
  if (options_.on_notice) options_.on_notice(message);
}

bool WorkerClient::start(const std::string& lost) {
  if (gave_up()) {
    throw Error(ErrorKind::kWorker,
                !given_up_.empty()
                    ? given_up_
                    : "the worker (" + options_.command + ") failed " + std::to_string(failures_) +
                          " times in a row and is not started again; run it by hand to see why");
  }
  const int failures = failures_;
  const auto begin = Process::Clock::now();
  const auto away_s = [begin] {
    return std::chrono::duration<double>(Process::Clock::now() - begin).count();
  };
  double pause = options_.first_pause_s;
  for (bool waited = false;; waited = true) {
    try {
      start_once();
      if (waited)
        notice("the worker (" + options_.command + ") is back after " + seconds_text(away_s()) +
               "; going on");
      return waited;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kWorker || !was_there_ || options_.reconnect_seconds <= 0) throw;
      failures_ = failures;  // being away is no failure at what was asked
      const std::string limit = seconds_text(options_.reconnect_seconds);
      if (away_s() + pause > options_.reconnect_seconds)
        give_up(std::string(e.what()) + "; it has been away for as long as it is waited for (" + limit +
                "); what was measured is kept, and the same command goes on from there");
      if (!waited) notice((lost.empty() ? e.what() : lost) + "; trying to reach it for up to " + limit);
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    pause = std::min(2 * pause, kLongestPause);
  }
}

// After a request without an answer: a worker that starts again at once was there all the time and failed at
// what it was asked, unless its connection broke. One that had to be waited for did not.
bool WorkerClient::is_back_after(const Error& failure) {
  if (failure.kind() != ErrorKind::kWorker || options_.reconnect_seconds <= 0 || gave_up()) return false;
  const bool lost = lost_;
  const bool waited = start(failure.what());
  if (lost && !waited) notice(std::string(failure.what()) + "; it is there again and asked once more");
  return lost || waited;
}

Json WorkerClient::exchange(const std::string& verb, const std::string& task, const Json& params,
                            double seconds) {
  const Request request{next_id_++, verb, params};
  const auto deadline = deadline_in(seconds);
  // A worker that no longer reads has ended or hangs; reading tells which.
  process_->write_line(to_line(request), deadline);
  std::string line;
  switch (process_->read_line(&line, deadline)) {
    case Process::Outcome::kLine:
      break;
    case Process::Outcome::kEnd:
      fail_ended(task);
    case Process::Outcome::kTooLong:
      fail(task, "answered with a line of more than 64 MiB", kSpeaksNonsense);
    case Process::Outcome::kLate:
      fail(task, "did not answer within " + seconds_text(seconds) + " and was stopped",
           verb == "hello" ? "start it by hand to see what it waits for (a password, a queue)"
                           : "the network may be too large for the device, or the device busy or stuck");
  }
  Response response;
  try {
    response = response_from_line(line);
    if (response.id != request.id) {
      throw bad_input("it has the id " + std::to_string(response.id) + " instead of " +
                      std::to_string(request.id));
    }
  } catch (const Error& e) {
    fail(task, std::string("answered nonsense (") + e.what() + "): " + excerpt(line), kSpeaksNonsense);
  }
  if (recording_) {
    try {
      recording_->add(request, response);
    } catch (const Error&) {
      process_.reset();  // a full disk is not the worker's fault, and is not told as if it were
      throw;
    }
  }
  if (response.error)
    throw Error(response.error->kind(), std::string("the worker says: ") + response.error->what());
  return std::move(response.result);
}

Json WorkerClient::ask(const std::string& verb, const std::string& task, const Json& params, double seconds) {
  if (!process_) start();
  for (;;) {
    try {
      Json result = exchange(verb, task, params, seconds);
      failures_ = 0;
      return result;
    } catch (const Error& e) {
      if (process_) failures_ = 0;  // an error line is an answer: the worker is well
      if (process_ || !is_back_after(e)) throw;
    }
  }
}

Json WorkerClient::call(const std::string& verb, const Json& params, double seconds) {
  return ask(verb, verb, params, seconds);
}

Json WorkerClient::detect(bool characterise) {
  // Asked for only when wanted: a worker that cannot characterise its meters still answers the rest.
  return call("detect", characterise ? Json{{"characterise", true}} : Json::object(), options_.reply_seconds);
}

Json WorkerClient::idle(double seconds, const std::string& meter) {
  return call("idle", {{"seconds", seconds}, {"meter", meter}}, seconds + options_.reply_seconds);
}

Measurement WorkerClient::measure(const MeasureRequest& request) {
  const std::string task = "measure " + request.network.name() + " at batch " + std::to_string(request.batch);
  const double limit = request.budget_s + request.warm_up_s + options_.measure_margin;
  const int failures = failures_;
  const Json result = ask("measure", task, to_json(request), limit);
  try {
    Measurement m = measurement_from_json(result);
    const bool asked = request.energy && m.energy_j && !request.meter.empty();
    if (asked && !m.meter.empty() && !same_meter(request.meter, m.meter))
      throw bad_input("it read the meter " + m.meter + " where " + request.meter + " was asked for");
    return m;
  } catch (const Error& e) {
    failures_ = failures;
    fail(task, std::string("answered nonsense (") + e.what() + ")",
         "its answer cannot be true: check its meter");
  }
}

RecordedPass WorkerClient::trace(TraceRequest request) {
  request.limit_s = options_.trace_seconds;
  const std::string task = "run " + request.path;
  Json result;
  try {
    result = ask("trace", task, to_json(request), request.limit_s + options_.reply_seconds);
  } catch (const Error& e) {
    const std::string why = e.what();
    if (e.kind() != ErrorKind::kBadInput || why.find("verb") == std::string::npos ||
        why.find(request.path) != std::string::npos) {
      throw;
    }
    throw bad_input(
        "the worker (" + options_.command +
        ") cannot load TorchScript files: it is older than this ampere, or made for another framework; "
        "update it, or name another one with --worker");
  }
  try {
    return recorded_pass_from_json(result);
  } catch (const Error& e) {
    fail(task, std::string("answered nonsense (") + e.what() + ")", "see docs/protocol.md");
  }
}

std::string default_worker_command() {
  if (const char* command = std::getenv("AMPERE_WORKER"); command && *command) return command;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto beside = self.parent_path() / "ampere-worker";
    if (std::filesystem::exists(beside, error)) return "exec " + shell_quoted(beside.string());
  }
  return "exec ampere-worker";
}

}  // namespace ampere

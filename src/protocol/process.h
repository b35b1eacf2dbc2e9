// A child process that is spoken to line by line, with a deadline on every line.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ampere {

// How a child ended. A shell reports that its command died of signal n as status 128 + n; that is
// told as the signal here.
struct ProcessEnd {
  bool running = false;  // it had not ended by itself
  int status = 0;        // exit status when signal is 0
  int signal = 0;

  // "exit status 3", "signal 9 (Killed)", "still running".
  std::string text() const;
};

class Process {
 public:
  using Clock = std::chrono::steady_clock;
  using TextSink = std::function<void(std::string_view)>;

  // Runs the command line through /bin/sh in a process group of its own, with pipes on its standard
  // input, output and error. The group is killed when this process ends, also by kill -9. What it writes to
  // standard error is kept (last_words) and handed to `errors` if there is one. Throws Error{kWorker} when no
  // process can be started.
  explicit Process(const std::string& command, TextSink errors = {});
  // Kills the whole group and waits for the child.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  enum class Outcome { kLine, kEnd, kLate, kTooLong };

  // False when the child no longer reads or did not take the line before the deadline.
  bool write_line(const std::string& line, Clock::time_point deadline);
  // kLine: `line` holds it without its end. kEnd: the child closed its output. kTooLong: more than
  // 64 MiB without an end of line.
  Outcome read_line(std::string* line, Clock::time_point deadline);

  // Ends the child: closes its input, waits up to `grace` for it to leave by itself, then kills what
  // is left of its group. Tells how it ended, and whether it had to be killed. Can be called again.
  ProcessEnd end(Clock::duration grace = Clock::duration::zero());

  // The last 4 KiB the child wrote to its standard error.
  const std::string& last_words() const { return errors_; }

 private:
  void drain_errors();
  bool has_ended() const;

  int pid_ = -1;
  int guardian_ = -1;  // head of the group, which it kills when this process is gone
  int life_ = -1;      // what the guardian watches; closed when this process ends
  int to_child_ = -1;
  int from_child_ = -1;
  int errors_fd_ = -1;
  TextSink sink_;
  std::string buffer_;
  std::size_t scanned_ = 0;
  std::string errors_;
  std::optional<ProcessEnd> end_;
};

// A word that /bin/sh reads back as the same text.
std::string shell_quoted(const std::string& text);

}  // namespace ampere

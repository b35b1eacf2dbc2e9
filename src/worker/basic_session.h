// The worker's side of a conversation, whatever trains: one request line in, one response line out.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "protocol/messages.h"
#include "worker/device.h"
#include "worker/meter_in_use.h"

namespace ampere::worker {

// What every worker's command line may say.
struct WorkerOptions {
  std::string worker;  // the program's name, as "hello" tells it
  std::string meter;   // for requests that name none; empty: the best one here
  int threads = 1;     // for requests that say nothing of threads
};

// Longest request line that is read.
inline constexpr std::size_t kMaxLine = std::size_t{64} << 20;
// Most iterations of one "train".
inline constexpr std::int64_t kMaxIterations = 10'000'000;

// The verbs that need nothing but a Device: hello, detect, idle, measure, train, shutdown.
class BasicSession {
 public:
  BasicSession(std::unique_ptr<Device> device, WorkerOptions options);
  virtual ~BasicSession() = default;

  // The response line, without its end. Never throws: what goes wrong becomes an error line.
  std::string answer(const std::string& line);
  // A response to a line that was longer than kMaxLine.
  static std::string refuse_long_line();
  // After "shutdown", or when the device no longer works and the process must be started again.
  bool ended() const { return ended_; }
  // False after a device that no longer works.
  bool healthy() const { return healthy_; }

 protected:
  virtual Json dispatch(const Request& request);
  // The verbs that are known, for whoever asks for another.
  virtual std::string verbs() const { return "hello, detect, idle, measure, train, shutdown"; }
  Json train(Json params);
  MeterInUse& meter(const std::string& name);
  // A recipe without "threads" takes the worker's own default.
  void fill_threads(Json& params) const;
  Device& device() { return *device_; }

 private:
  Json detect(const Json& params);
  Json idle(const Json& params);
  Json measure(Json params);
  void check_health();

  std::unique_ptr<Device> device_;
  WorkerOptions options_;
  std::map<std::string, MeterInUse> meters_;  // opened once
  bool ended_ = false;
  bool healthy_ = true;
};

// Answers the lines of `in` until it ends or the session does. Returns the exit code.
int serve(BasicSession& session, std::FILE* in, std::FILE* out);

}  // namespace ampere::worker

// The worker's side of a conversation: one request line in, one response line out.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "measure/request.h"
#include "protocol/messages.h"
#include "worker/device.h"
#include "worker/meter_in_use.h"
#include "worker/trace.h"
#include "worker/training_run.h"

namespace ampere::worker {

struct SessionOptions {
  std::string device = "auto";  // "cpu", "cuda" or "auto"
  std::string meter;            // for requests that name none; empty: the best one here
  int threads = 1;              // for requests that say nothing of threads
  TraceOptions trace;
};

// Longest request line that is read.
inline constexpr std::size_t kMaxLine = std::size_t{64} << 20;

class Session {
 public:
  // Throws Error{kBadInput} when there is no such device.
  explicit Session(const SessionOptions& options);

  // The response line, without its end. Never throws: what goes wrong becomes an error line.
  std::string answer(const std::string& line);
  // A response to a line that was longer than kMaxLine.
  static std::string refuse_long_line();
  // After "shutdown", or when the device no longer works and the process must be started again.
  bool ended() const { return ended_; }
  // False after a device that no longer works.
  bool healthy() const { return healthy_; }

 private:
  Json dispatch(const Request& request);
  Json detect(const Json& params);
  Json idle(const Json& params);
  Json measure(Json params);
  Json train(Json params);
  Json train_run(const Json& params);
  MeterInUse& meter(const std::string& name);
  void check_health();

  SessionOptions options_;
  std::unique_ptr<Device> device_;
  std::map<std::string, MeterInUse> meters_;                  // opened once
  std::map<std::string, std::shared_ptr<DeviceData>> data_;   // by folder, read once
  std::map<std::string, std::unique_ptr<TrainingRun>> runs_;  // by the name they were given
  bool ended_ = false;
  bool healthy_ = true;
};

// Answers the lines of `in` until it ends or the session does. Returns the exit code.
int serve(Session& session, std::FILE* in, std::FILE* out);

}  // namespace ampere::worker

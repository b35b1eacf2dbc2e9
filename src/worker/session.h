// The conversation with a worker that trains by LibTorch: TorchScript files and runs on real data besides.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "worker/basic_session.h"
#include "worker/torch_device.h"
#include "worker/trace.h"
#include "worker/training_run.h"

namespace ampere::worker {

struct SessionOptions {
  std::string device = "auto";  // "cpu", "cuda" or "auto"
  std::string meter;            // for requests that name none; empty: the best one here
  int threads = 1;              // for requests that say nothing of threads
  TraceOptions trace;
};

class Session : public BasicSession {
 public:
  // Throws Error{kBadInput} when there is no such device.
  explicit Session(const SessionOptions& options);

 protected:
  Json dispatch(const Request& request) override;
  std::string verbs() const override {
    return "hello, detect, idle, measure, memory, train, trace, shutdown";
  }

 private:
  Session(std::unique_ptr<TorchDevice> device, const SessionOptions& options);
  Json memory(Json params);
  Json train_run(const Json& params);

  TorchDevice& torch_;  // which the session owns
  TraceOptions trace_;
  std::map<std::string, std::shared_ptr<DeviceData>> data_;   // by folder, read once
  std::map<std::string, std::unique_ptr<TrainingRun>> runs_;  // by the name they were given
};

}  // namespace ampere::worker

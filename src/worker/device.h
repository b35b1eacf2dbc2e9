// The one seam to what trains: the processor or an accelerator, by one framework or another.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "network/network.h"
#include "worker/training.h"

namespace ampere::worker {

struct DeviceFacts {
  std::string name;    // "AMD EPYC 7B13", "NVIDIA H200"
  std::string type;    // "cpu" or "cuda"
  std::string driver;  // empty where there is none
  int cores = 0;       // CPU cores, or multiprocessors of an accelerator
  std::int64_t memory_bytes = 0;
  std::string unit;  // tells one card from another of the same name; empty where nothing does
};

// Steps captured once, which the device then runs without the host.
class Replay {
 public:
  virtual ~Replay() = default;
  // Starts all captured steps again; does not wait for them.
  virtual void launch() = 0;
  // Names of the kernels in it, each once, where that can be told.
  virtual std::vector<std::string> kernels() const { return {}; }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() const = 0;
  virtual bool is_cpu() const = 0;
  // Bytes that a new network could take now.
  virtual std::int64_t free_memory() const = 0;
  // Returns when everything issued so far has finished.
  virtual void synchronise() = 0;
  // Captures `steps` runs of `step`; null on a device that has nothing to replay (a CPU).
  virtual std::unique_ptr<Replay> capture(const std::function<void()>& step, int steps) = 0;
  // What launching a replay costs the device, whatever is in it; 0 where there is none.
  virtual double launch_seconds() = 0;
  // The most bytes at one time of what the framework's allocator hands out while `work` runs. Throws
  // Error{kBadInput} where the framework does not tell.
  virtual std::int64_t peak_memory(const std::function<void()>& /*work*/) {
    throw bad_input("memory: " + framework() + " does not tell what its allocator hands out");
  }
  // Hands back memory that is kept for later use.
  virtual void trim() = 0;

  // "libtorch 1.13.1": part of the fingerprint, so that profiles of two frameworks never mix.
  virtual std::string framework() const = 0;
  // The matrix library that is really loaded.
  virtual std::string blas() const = 0;
  // Throws Error{kOutOfMemory} when the network cannot fit the device, Error{kBadInput} when it cannot be
  // trained.
  virtual std::unique_ptr<Training> start(const Network& network, std::int64_t batch,
                                          const TrainerOptions& options) = 0;
  // A matrix product of some milliseconds, made by so many CPU threads as far as they can be had.
  virtual std::function<void()> shared_work(int threads) = 0;
  // What an exception of the framework means: its first line, and whether memory ran out.
  virtual Error explain(const std::exception_ptr& exception) const = 0;
};

}  // namespace ampere::worker

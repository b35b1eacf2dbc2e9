// The one seam to what trains: the processor or an accelerator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace c10 {
struct Device;
}

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
  virtual c10::Device place() const = 0;
  // Bytes that a new network could take now.
  virtual std::int64_t free_memory() const = 0;
  // Returns when everything issued so far has finished.
  virtual void synchronise() = 0;
  // Captures `steps` runs of `step`; null on a device that has nothing to replay (a CPU).
  virtual std::unique_ptr<Replay> capture(const std::function<void()>& step, int steps) = 0;
  // What launching a replay costs the device, whatever is in it; 0 where there is none.
  virtual double launch_seconds() = 0;
  // Hands back memory that is kept for later use.
  virtual void trim() = 0;
};

// `which` is "cpu", "cuda" or "auto" (an accelerator where there is one). Throws Error{kBadInput}
// when there is no such device here or this worker was built without it.
std::unique_ptr<Device> open_device(const std::string& which);

// Null when there is no usable CUDA device; then `why` says so.
std::unique_ptr<Device> open_cuda_device(std::string& why);

}  // namespace ampere::worker

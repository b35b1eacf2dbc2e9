// A Device that Python's threads can share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "bindings.h"

namespace ampere::python {

// The library wants one thread at a time, and Python's lock does not see to that while it is released. So
// other threads wait for their turn; using a device inside its own on_step, or after close(), raises
// BadInputError.
class SharedDevice {
 public:
  explicit SharedDevice(Device device) : device_(std::make_unique<Device>(std::move(device))) {}

  // Runs work(device) without Python's lock, which must be held.
  template <class Work>
  auto use(const Work& work) {
    const nb::gil_scoped_release released;
    const Turn turn(*this);
    if (!device_) throw Error(ErrorKind::kBadInput, "this device was closed");
    return work(*device_);
  }

  // Ends the worker. Closing again does nothing.
  void close() {
    const nb::gil_scoped_release released;
    const Turn turn(*this);
    device_.reset();
  }

 private:
  // Holds the device for a scope.
  class Turn {
   public:
    explicit Turn(SharedDevice& shared) : shared_(shared) {
      if (shared.user_ == std::this_thread::get_id())
        throw Error(ErrorKind::kBadInput, "a device cannot be used from its own on_step");
      shared.mutex_.lock();
      shared.user_ = std::this_thread::get_id();
    }
    ~Turn() {
      shared_.user_ = std::thread::id();
      shared_.mutex_.unlock();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    SharedDevice& shared_;
  };

  std::mutex mutex_;
  std::atomic<std::thread::id> user_{};
  std::unique_ptr<Device> device_;
};

}  // namespace ampere::python

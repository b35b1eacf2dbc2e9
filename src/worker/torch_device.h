// What LibTorch trains on.
#pragma once

#include <memory>
#include <string>

#include "worker/device.h"

namespace c10 {
struct Device;
}

namespace ampere::worker {

class TorchDevice : public Device {
 public:
  virtual c10::Device place() const = 0;

  std::string framework() const override;
  std::string blas() const override;
  std::unique_ptr<Training> start(const Network& network, std::int64_t batch,
                                  const TrainerOptions& options) override;
  std::function<void()> shared_work(int threads) override;
  Error explain(const std::exception_ptr& exception) const override;
};

// "libtorch 1.13.1"
std::string framework_name();

// `which` is "cpu", "cuda" or "auto" (an accelerator where there is one). Throws Error{kBadInput}
// when there is no such device here or this worker was built without it.
std::unique_ptr<TorchDevice> open_device(const std::string& which);

// Null when there is no usable CUDA device; then `why` says so.
std::unique_ptr<TorchDevice> open_cuda_device(std::string& why);

}  // namespace ampere::worker

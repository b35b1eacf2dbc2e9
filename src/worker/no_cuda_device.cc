// Stands in for cuda_device.cc where LibTorch was built without CUDA.
#include <c10/core/Device.h>

#include "worker/torch_device.h"

namespace ampere::worker {

std::unique_ptr<TorchDevice> open_cuda_device(std::string& why) {
  why = "this ampere-worker was built with a LibTorch without CUDA; build it with a CUDA one";
  return nullptr;
}

}  // namespace ampere::worker

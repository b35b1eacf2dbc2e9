// Compiled only where LibTorch has CUDA; no_cuda_device.cc stands in for it elsewhere.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <fstream>

#include "base/error.h"
#include "worker/device.h"
#include "worker/translate.h"

namespace ampere {
namespace {

constexpr int kSideStreamSteps = 3;

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw Error(ErrorKind::kFailed, std::string(what) + ": " + cudaGetErrorString(result));
}

class CudaReplay : public Replay {
 public:
  // Capturing needs a stream of its own, with the allocations and plans of that stream made before.
  CudaReplay(const std::function<void()>& step, int steps) : stream_(c10::cuda::getStreamFromPool()) {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    check(cudaDeviceSynchronize(), "waiting for the device");
    for (int i = 0; i < kSideStreamSteps; ++i) step();
    check(cudaDeviceSynchronize(), "waiting for the device");
    graph_.capture_begin();
    try {
      for (int i = 0; i < steps; ++i) step();
    } catch (...) {
      abandon();
      throw;
    }
    graph_.capture_end();
  }

  void launch() override {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    graph_.replay();
  }

 private:
  // A capture that failed must still be ended before the stream works again.
  void abandon() {
    try {
      graph_.capture_end();
    } catch (...) {
    }
    cudaGetLastError();
  }

  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAGraph graph_;
};

std::string driver_version() {
  std::ifstream in("/sys/module/nvidia/version");
  std::string version;
  if (in >> version) return version;
  int number = 0;
  if (cudaDriverGetVersion(&number) != cudaSuccess) return "";
  return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

class CudaDevice : public Device {
 public:
  DeviceFacts facts() const override {
    const cudaDeviceProp* properties = at::cuda::getDeviceProperties(0);
    return {properties->name, "cuda", driver_version(), properties->multiProcessorCount,
            static_cast<std::int64_t>(properties->totalGlobalMem)};
  }
  bool is_cpu() const override { return false; }
  c10::Device place() const override { return c10::Device(c10::kCUDA, 0); }
  std::int64_t free_memory() const override {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    return static_cast<std::int64_t>(free);
  }
  void synchronise() override { check(cudaDeviceSynchronize(), "waiting for the device"); }
  std::unique_ptr<Replay> capture(const std::function<void()>& step, int steps) override {
    return std::make_unique<CudaReplay>(step, steps);
  }
  void trim() override { c10::cuda::CUDACachingAllocator::emptyCache(); }
};

}  // namespace

std::unique_ptr<Device> open_cuda_device(std::string& why) {
  if (at::cuda::device_count() < 1) {
    why = "the driver shows none; check nvidia-smi and CUDA_VISIBLE_DEVICES";
    return nullptr;
  }
  try {
    // Brings the context up, so that idle power and free memory are those of a process that trains.
    check(cudaSetDevice(0), "opening the device");
    check(cudaFree(nullptr), "opening the device");
    return std::make_unique<CudaDevice>();
  } catch (...) {
    why = translate(std::current_exception()).what();
    return nullptr;
  }
}

}  // namespace ampere

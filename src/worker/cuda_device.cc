// Compiled only where LibTorch has CUDA; no_cuda_device.cc stands in for it elsewhere.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <vector>

#include "base/error.h"
#include "worker/cuda_kernels.h"
#include "worker/torch_device.h"
#include "worker/translate.h"

namespace ampere::worker {
namespace {

constexpr int kSideStreamSteps = 5;
// Enough kernels that the device, not the host, sets the pace of launching them.
constexpr int kFewKernels = 16;
constexpr int kManyKernels = 64;
constexpr int kLaunches = 100;

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw Error(ErrorKind::kFailed, std::string(what) + ": " + cudaGetErrorString(result));
}

void settle() { check(cudaDeviceSynchronize(), "waiting for the device"); }

class CudaReplay : public Replay {
 public:
  // Capturing needs a stream other than the default one, with the allocations and plans of that stream made
  // before. Memory kept for other streams is handed back, for a capture that runs out of it cannot do so.
  CudaReplay(const std::function<void()>& step, int steps, const c10::cuda::CUDAStream& stream)
      : stream_(stream), pool_(at::cuda::graph_pool_handle()) {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    settle();
    c10::cuda::CUDACachingAllocator::emptyCache();
    for (int i = 0; i < kSideStreamSteps; ++i) step();
    settle();
    c10::cuda::CUDACachingAllocator::emptyCache();
    try {
      graph_.capture_begin(pool_);
      for (int i = 0; i < steps; ++i) step();
      kernels_ = captured_kernels(stream_.stream());
      graph_.capture_end();
    } catch (...) {
      abandon();
      throw;
    }
  }

  void launch() override {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    graph_.replay();
  }

  std::vector<std::string> kernels() const override { return kernels_; }

 private:
  // A capture that failed must still be ended before the stream works again. Where ending it fails too,
  // LibTorch 2.x goes on allocating for a graph that is gone and refuses to draw random numbers; one empty
  // capture that succeeds brings the random generator back.
  void abandon() {
    attempt([&] { graph_.capture_end(); });
    cudaGetLastError();
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
    attempt([&] {  // fails where it was ended after all
      c10::cuda::CUDACachingAllocator::endAllocateToPool(stream_.device_index(), pool_);
      c10::cuda::CUDACachingAllocator::releasePool(stream_.device_index(), pool_);
    });
#endif
    attempt([] {
      at::cuda::CUDAGraph nothing;
      nothing.capture_begin();
      nothing.capture_end();
    });
    cudaGetLastError();
  }

  static void attempt(const std::function<void()>& call) {
    try {
      call();
    } catch (...) {
    }
  }

  c10::cuda::CUDAStream stream_;
  decltype(at::cuda::graph_pool_handle()) pool_;
  at::cuda::CUDAGraph graph_;
  std::vector<std::string> kernels_;
};

std::string driver_version() {
  std::ifstream in("/sys/module/nvidia/version");
  std::string version;
  if (in >> version) return version;
  int number = 0;
  if (cudaDriverGetVersion(&number) != cudaSuccess) return "";
  return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

// As nvidia-smi writes it: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6".
std::string unit_of(const cudaDeviceProp& properties) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof properties.uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(properties.uuid.bytes[i]));
    text += two;
  }
  return text;
}

class CudaDevice : public TorchDevice {
 public:
  DeviceFacts facts() const override {
    const cudaDeviceProp* properties = at::cuda::getDeviceProperties(0);
    return {properties->name,
            "cuda",
            driver_version(),
            properties->multiProcessorCount,
            static_cast<std::int64_t>(properties->totalGlobalMem),
            unit_of(*properties)};
  }
  bool is_cpu() const override { return false; }
  c10::Device place() const override { return c10::Device(c10::kCUDA, 0); }
  std::int64_t free_memory() const override {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    return static_cast<std::int64_t>(free);
  }
  void synchronise() override { settle(); }
  std::unique_ptr<Replay> capture(const std::function<void()>& step, int steps) override {
    return std::make_unique<CudaReplay>(step, steps, side_);
  }
  double launch_seconds() override {
    if (!launch_seconds_) launch_seconds_ = measure_launch();
    return *launch_seconds_;
  }
  std::int64_t peak_memory(const std::function<void()>& work) override {
    namespace allocator = c10::cuda::CUDACachingAllocator;
    settle();
    allocator::resetPeakStats(0);
    constexpr std::size_t kAll = 0;  // of the kinds of pools that are counted apart
    const std::int64_t before = allocator::getDeviceStats(0).allocated_bytes[kAll].current;
    work();
    settle();
    return allocator::getDeviceStats(0).allocated_bytes[kAll].peak - before;
  }
  void trim() override { c10::cuda::CUDACachingAllocator::emptyCache(); }

 private:
  // Graphs of few and of many equal kernels, back to back: what does not grow with the kernels is the launch.
  double measure_launch() {
    at::Tensor number = at::zeros({1}, at::TensorOptions().device(place()));
    const auto seconds_of = [&](int kernels) {
      CudaReplay replay([&] { number.add_(1); }, kernels, side_);
      std::vector<double> seconds;
      for (int repeat = 0; repeat < 7; ++repeat) {
        settle();
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < kLaunches; ++i) replay.launch();
        settle();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        seconds.push_back(taken.count() / kLaunches);
      }
      return *std::min_element(seconds.begin(), seconds.end());
    };
    const double many = seconds_of(kManyKernels);
    const double few = seconds_of(kFewKernels);
    const double each = (many - few) / (kManyKernels - kFewKernels);
    return std::max(0.0, few - kFewKernels * each);
  }

  std::optional<double> launch_seconds_;
  // One for all captures: the framework keeps workspaces for each stream it has seen.
  c10::cuda::CUDAStream side_ = c10::cuda::getStreamFromPool();
};

}  // namespace

std::unique_ptr<TorchDevice> open_cuda_device(std::string& why) {
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

}  // namespace ampere::worker

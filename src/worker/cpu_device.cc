#include <c10/core/Device.h>
#include <unistd.h>

#include "base/error.h"
#include "worker/host.h"
#include "worker/host_peak.h"
#include "worker/torch_device.h"

namespace ampere::worker {
namespace {

class CpuDevice : public TorchDevice {
 public:
  DeviceFacts facts() const override {
    return {cpu_name(), "cpu", "", static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), host_memory(), ""};
  }
  bool is_cpu() const override { return true; }
  c10::Device place() const override { return c10::Device(c10::kCPU); }
  std::int64_t free_memory() const override { return host_free_memory(); }
  void synchronise() override {}
  std::unique_ptr<Replay> capture(const std::function<void()>&, int) override { return nullptr; }
  double launch_seconds() override { return 0; }
  std::int64_t peak_memory(const std::function<void()>& work) override { return host_peak(work); }
  void trim() override { trim_allocator(); }
};

}  // namespace

std::unique_ptr<TorchDevice> open_device(const std::string& which) {
  if (which == "cpu") return std::make_unique<CpuDevice>();
  if (which != "auto" && which != "cuda") {
    throw bad_input("--device must be cpu, cuda or auto, found \"" + which + "\"");
  }
  std::string why;
  if (auto device = open_cuda_device(why)) return device;
  if (which == "auto") return std::make_unique<CpuDevice>();
  throw bad_input("no CUDA device: " + why);
}

}  // namespace ampere::worker

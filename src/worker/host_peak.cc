#include "worker/host_peak.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/version.h>

#include <algorithm>
#include <atomic>
#include <memory>

namespace ampere::worker {
namespace {

#if TORCH_VERSION_MAJOR >= 2
using Total = std::size_t;
#else
using Total = std::int64_t;
#endif

// The framework tells it of every tensor that comes and goes, on this thread and on those that it starts.
class Ledger : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t bytes, Total, Total, c10::Device device) override {
    if (!device.is_cpu()) return;
    const std::int64_t now = now_ += bytes;
    std::int64_t most = most_;
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t most() const { return most_; }

 private:
  std::atomic<std::int64_t> now_{0}, most_{0};
};

}  // namespace

std::int64_t host_peak(const std::function<void()>& work) {
  const auto ledger = std::make_shared<Ledger>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, ledger);
  work();
  return ledger->most();
}

}  // namespace ampere::worker

#include "onednn/device.h"

#include <omp.h>
#include <unistd.h>

#include <dnnl.hpp>
#include <new>

#include "onednn/kernels.h"
#include "onednn/training.h"
#include "worker/host.h"

namespace ampere::onednn {
namespace {

constexpr std::int64_t kSharedSize = 384;  // of the matrices that tell how many threads run

// The instructions that oneDNN chooses its kernels by.
std::string instructions() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::all:
      return "kernels of no named instruction set";
    default:
      return "AVX-512";
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class Processor : public worker::Device {
 public:
  worker::DeviceFacts facts() const override {
    return {worker::cpu_name(),    "cpu", "", static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
            worker::host_memory(), ""};
  }
  bool is_cpu() const override { return true; }
  std::int64_t free_memory() const override { return worker::host_free_memory(); }
  void synchronise() override {}
  std::unique_ptr<worker::Replay> capture(const std::function<void()>&, int) override { return nullptr; }
  double launch_seconds() override { return 0; }
  void trim() override { worker::trim_allocator(); }

  std::string framework() const override { return framework_name(); }
  std::string blas() const override { return "built into oneDNN, " + instructions(); }

  std::unique_ptr<worker::Training> start(const Network& network, std::int64_t batch,
                                          const worker::TrainerOptions& options) override {
    return std::make_unique<NetworkTraining>(network, batch, options, *this);
  }

  std::function<void()> shared_work(int threads) override {
    worker::check_threads(threads);
    omp_set_num_threads(threads);
    auto numbers = std::make_shared<Buffer>(kSharedSize * kSharedSize);
    auto result = std::make_shared<Buffer>(kSharedSize * kSharedSize);
    return [numbers, result] {
      Product{false, false, kSharedSize, kSharedSize, kSharedSize}.run(numbers->data(), numbers->data(),
                                                                       result->data());
    };
  }

  Error explain(const std::exception_ptr& exception) const override {
    try {
      std::rethrow_exception(exception);
    } catch (const Error& e) {
      return e;
    } catch (const std::bad_alloc&) {
      return {ErrorKind::kOutOfMemory, "not enough memory for this request"};
    } catch (const dnnl::error& e) {
      const bool memory = e.status == dnnl_out_of_memory;
      return {memory ? ErrorKind::kOutOfMemory : ErrorKind::kFailed, "oneDNN: " + first_line(e.what())};
    } catch (const std::exception& e) {
      return {ErrorKind::kFailed, "training failed: " + first_line(e.what())};
    } catch (...) {
      return {ErrorKind::kFailed, "training failed for a reason that cannot be told"};
    }
  }
};

}  // namespace

std::string framework_name() {
  const dnnl::version_t* v = dnnl::version();
  return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
         std::to_string(v->patch);
}

std::unique_ptr<worker::Device> open_processor() { return std::make_unique<Processor>(); }

}  // namespace ampere::onednn

#include "worker/torch_device.h"

#include <torch/torch.h>
#include <torch/version.h>

#include "worker/host.h"
#include "worker/recipe_settings.h"
#include "worker/trainer.h"
#include "worker/translate.h"

namespace ampere::worker {

std::string framework_name() { return std::string("libtorch ") + TORCH_VERSION; }

std::string TorchDevice::framework() const { return framework_name(); }

std::string TorchDevice::blas() const { return loaded_blas(); }

std::unique_ptr<Training> TorchDevice::start(const Network& network, std::int64_t batch,
                                             const TrainerOptions& options) {
  return std::make_unique<Trainer>(network, batch, options, *this);
}

std::function<void()> TorchDevice::shared_work(int threads) {
  set_threads(threads);
  const torch::Tensor a = torch::rand({768, 768});
  return [a] {
    const torch::NoGradGuard no_grad;
    torch::mm(a, a);
  };
}

Error TorchDevice::explain(const std::exception_ptr& exception) const { return translate(exception); }

}  // namespace ampere::worker

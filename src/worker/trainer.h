// One network being trained by LibTorch, on synthetic data unless it is fed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "network/network.h"
#include "worker/torch_device.h"
#include "worker/training.h"

namespace at {
class Tensor;
}

namespace ampere::worker {

class Trainer : public Training {
 public:
  // Throws Error{kOutOfMemory} when the network cannot fit the device, Error{kBadInput} when it
  // cannot be trained.
  Trainer(const Network& network, std::int64_t batch, const TrainerOptions& options, TorchDevice& device);
  ~Trainer() override;

  void step(Phase phase) override;
  void step() { step(Phase::kIteration); }
  int iterations_per_step() const override;

  // Real data in place of the synthetic: the one input, and the class of each sample.
  void feed(const at::Tensor& input, const at::Tensor& classes);
  void set_learning_rate(double rate);
  // What the network's first output is for this input when it is used, not trained.
  at::Tensor evaluate(const at::Tensor& input);

  std::optional<double> last_loss() const override;
  // Shapes of the outputs, as the first iteration computed them.
  std::vector<std::vector<std::int64_t>> output_shapes() const;
  // True when the last iteration left a gradient at every float input.
  bool has_input_gradients() const;
  std::int64_t parameters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ampere::worker

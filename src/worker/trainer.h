// One network being trained, on synthetic data unless it is fed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "measure/request.h"
#include "network/network.h"
#include "worker/device.h"

namespace at {
class Tensor;
}

namespace ampere::worker {

struct TrainerOptions {
  // True: backward from a loss against random targets. False: from a given gradient of each output.
  bool loss = true;
  // True: float inputs are leaves whose gradient is computed too.
  bool input_grad = false;
  Recipe recipe;
  // Small while measuring, so that the thousandth iteration computes on the same kind of numbers as
  // the first: no overflow, no denormals.
  double learning_rate = 1e-6;
};

// Data, targets and gradients are drawn once, from the recipe's seed. Outputs of shape (N, K) and
// (N, L, K) with K > 1 are trained by cross-entropy over K, others by mean squared error; the losses
// of several outputs are summed.
//
// A network of input nodes only stands for the empty iteration: it trains one scalar that depends on
// nothing, so that what is left is the fixed cost of starting the backward pass and the optimizer.
class Trainer {
 public:
  // Throws Error{kOutOfMemory} when the network cannot fit the device, Error{kBadInput} when it
  // cannot be trained.
  Trainer(const Network& network, std::int64_t batch, const TrainerOptions& options, Device& device);
  ~Trainer();

  // Issues one iteration: forget gradients, forward, loss, backward, update. Does not wait for it. Of another
  // phase, only that part is issued: a backward pass goes over the graph of the forward pass before it again,
  // an update takes the gradients that are there.
  void step(Phase phase = Phase::kIteration);
  // How many iterations a step makes: 1, or as many as a captured part has copies.
  int iterations_per_step() const;

  // Real data in place of the synthetic: the one input, and the class of each sample.
  void feed(const at::Tensor& input, const at::Tensor& classes);
  void set_learning_rate(double rate);
  // What the network's first output is for this input when it is used, not trained.
  at::Tensor evaluate(const at::Tensor& input);

  // Waits for the last iteration. Absent before the first, and without a loss.
  std::optional<double> last_loss() const;
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

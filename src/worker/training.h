// One network being trained, whatever trains it.
#pragma once

#include <optional>

#include "measure/recipe.h"
#include "measure/request.h"

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
class Training {
 public:
  virtual ~Training() = default;

  // Issues one iteration: forget gradients, forward, loss, backward, update. Does not wait for it. Of another
  // phase, only that part is issued: a backward pass goes over the graph of the forward pass before it again,
  // an update takes the gradients that are there.
  virtual void step(Phase phase) = 0;
  // How many iterations a step makes: 1, or as many as a captured part has copies.
  virtual int iterations_per_step() const { return 1; }
  // Waits for the last iteration. Absent before the first, and without a loss.
  virtual std::optional<double> last_loss() const = 0;
};

}  // namespace ampere::worker

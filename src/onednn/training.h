// One network being trained by this engine.
#pragma once

#include "onednn/graph.h"
#include "onednn/loss.h"
#include "onednn/network_graph.h"
#include "onednn/optimizer.h"
#include "worker/device.h"
#include "worker/training.h"

namespace ampere::onednn {

class NetworkTraining : public worker::Training {
 public:
  // Throws Error{kOutOfMemory} when the network cannot fit, Error{kBadInput} when it cannot be trained.
  NetworkTraining(const Network& network, std::int64_t batch, const worker::TrainerOptions& options,
                  const worker::Device& device);

  void step(Phase phase) override;
  std::optional<double> last_loss() const override { return loss_; }
  // What is trained, and what it is trained on, for those who look closer.
  const NetworkGraph& values() const { return values_; }
  const Graph& graph() const { return graph_; }

 private:
  void forward();
  void backward();

  worker::TrainerOptions options_;
  Graph graph_;
  NetworkGraph values_;
  std::vector<Loss> losses_;  // one for each output; without a loss, none
  std::unique_ptr<Optimizer> optimizer_;
  bool empty_ = false;  // the empty iteration
  std::optional<double> loss_;
};

}  // namespace ampere::onednn

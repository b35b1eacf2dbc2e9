#include "onednn/training.h"

#include <omp.h>

#include <algorithm>

#include "base/error.h"
#include "worker/fit.h"
#include "worker/host.h"

namespace ampere::onednn {
namespace {

void apply_recipe(const Recipe& recipe) {
  if (recipe.precision != "default" && recipe.precision != "fp32") {
    throw bad_input("recipe: this worker trains in float32; precision " + recipe.precision +
                    " is unsupported, use fp32 (or ampere-worker)");
  }
  if (recipe.optimizer == "captured")
    throw bad_input(
        "recipe: optimizer captured is for networks of captured calls; choose sgd, momentum or adam");
  worker::check_threads(recipe.threads);
  omp_set_num_threads(recipe.threads);
}

bool is_empty(const Network& network) {
  const auto& nodes = network.nodes();
  return std::all_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op == Op::kInput; });
}

}  // namespace

NetworkTraining::NetworkTraining(const Network& network, std::int64_t batch,
                                 const worker::TrainerOptions& options, const worker::Device& device)
    : options_(options), graph_(static_cast<std::uint64_t>(options.recipe.seed)), empty_(is_empty(network)) {
  infer_shapes(network, batch);  // what is wrong with the network is said before what is wrong with its size
  worker::check_memory(network, batch, device);
  apply_recipe(options.recipe);
  if (empty_) {
    graph_.parameter({1}, 0, 1);
    graph_.finish({});
  } else {
    values_ = build(graph_, network, batch, options.input_grad);
    for (Value* output : values_.outputs) {
      if (options.loss) {
        losses_.emplace_back(*output, graph_.random());
        continue;
      }
      // As large as the gradient of a mean would be; nobody else writes it.
      if (output->wants_gradient) {
        fill_normal(graph_.random(), output->gradient.data(), output->elements(),
                    1.0F / static_cast<float>(output->elements()));
      }
    }
  }
  optimizer_ =
      std::make_unique<Optimizer>(options.recipe.optimizer, options.learning_rate, graph_.parameters());
}

void NetworkTraining::forward() {
  graph_.forward();
  if (!options_.loss) return;
  double sum = 0;
  for (Loss& loss : losses_) sum += loss.forward();
  loss_ = sum;
}

void NetworkTraining::backward() {
  if (empty_) {
    graph_.parameters()[0]->gradient.data()[0] = 1;
    return;
  }
  graph_.backward();
}

void NetworkTraining::step(Phase phase) {
  const bool all = phase == Phase::kIteration;
  if ((all || phase == Phase::kForward) && !empty_) forward();
  if (all || phase == Phase::kBackward) backward();
  if (all || phase == Phase::kUpdate) optimizer_->step();
}

}  // namespace ampere::onednn

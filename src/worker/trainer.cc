#include "worker/trainer.h"

#include <torch/torch.h>

#include <algorithm>

#include "base/error.h"
#include "worker/captured_part.h"
#include "worker/fit.h"
#include "worker/network_module.h"
#include "worker/recipe_settings.h"

namespace ampere::worker {
namespace {

using Tensors = std::vector<torch::Tensor>;

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name, const Tensors& parameters,
                                                        double rate) {
  if (parameters.empty()) return nullptr;
  if (name == "adam")
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(rate));
  torch::optim::SGDOptions options(rate);
  if (name == "momentum") options.momentum(0.9);
  return std::make_unique<torch::optim::SGD>(parameters, options);
}

// Drawn on the device itself: its memory may be larger than the host's.
torch::Tensor random_floats(const std::vector<std::int64_t>& dims, torch::Device place) {
  return torch::randn(dims, torch::TensorOptions().device(place));
}

torch::Tensor random_ints(std::int64_t below, const std::vector<std::int64_t>& dims, torch::Device place) {
  return torch::randint(below, dims, torch::TensorOptions().dtype(torch::kLong).device(place));
}

torch::Tensor synthetic_input(const Node& node, const Tensor& shape, torch::Device place) {
  if (shape.dtype == DType::kInt) return random_ints(node.integer("classes"), shape.dims, place);
  return random_floats(shape.dims, place);
}

bool by_classes(const std::vector<std::int64_t>& dims) {
  return (dims.size() == 2 || dims.size() == 3) && dims.back() > 1;
}

torch::Tensor synthetic_target(const Tensor& output, torch::Device place) {
  if (!by_classes(output.dims)) return random_floats(output.dims, place);
  return random_ints(output.dims.back(), {output.elements() / output.dims.back()}, place);
}

torch::Tensor loss_of(const torch::Tensor& output, const torch::Tensor& target) {
  if (!by_classes(output.sizes().vec())) return torch::mse_loss(output, target);
  return torch::cross_entropy_loss(output.dim() == 2 ? output : output.flatten(0, 1), target);
}

bool is_empty(const Network& network) {
  const auto& nodes = network.nodes();
  return std::all_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op == Op::kInput; });
}

// The one part of a captured step that a network is, if it is one.
const Node* captured_calls(const Network& network) {
  const Node* found = nullptr;
  int others = 0;
  for (const Node& node : network.nodes()) {
    if (node.op == Op::kCalls && !found)
      found = &node;
    else if (node.op != Op::kInput)
      ++others;
  }
  if (found && others > 0)
    throw bad_input(describe(*found) +
                    ": captured calls are measured one part at a time, with nothing else beside them");
  return found;
}

}  // namespace

struct Trainer::State {
  TrainerOptions options;
  bool cpu = true;
  std::shared_ptr<NetworkModule> module;   // null for the empty iteration
  std::unique_ptr<CapturedPart> captured;  // instead of a module
  Tensors parameters;
  Tensors inputs;
  Tensors leaves;   // inputs that want a gradient
  Tensors targets;  // one per output, or the gradients that the backward pass starts from
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::vector<std::vector<std::int64_t>> output_shapes;
  torch::Tensor loss;
  Tensors results;  // of the last forward pass, where its graph is still wanted

  void forget_gradients() {
    for (torch::Tensor& p : parameters) p.mutable_grad() = torch::Tensor();
    for (torch::Tensor& leaf : leaves) leaf.mutable_grad() = torch::Tensor();
  }
  void forward();
  void backward(bool keep_graph);
  void train_network();
  void run_phase(Phase phase);
};

Trainer::Trainer(const Network& network, std::int64_t batch, const TrainerOptions& options,
                 TorchDevice& device)
    : state_(std::make_unique<State>()) {
  const std::vector<Tensor> shapes = infer_shapes(network, batch);
  check_memory(network, batch, device);
  apply_recipe(options.recipe, device);
  State& s = *state_;
  s.options = options;
  s.cpu = device.is_cpu();
  const torch::Device place = device.place();
  if (const Node* calls = captured_calls(network)) {
    s.captured = std::make_unique<CapturedPart>(calls->word("calls"), place, device.free_memory());
    return;
  }
  if (options.recipe.optimizer == "captured" && !is_empty(network))
    throw bad_input(
        "recipe: optimizer captured is for networks of captured calls; choose sgd, momentum or adam");
  if (is_empty(network)) {
    s.parameters = {torch::ones({}, torch::TensorOptions().device(place)).requires_grad_()};
    s.targets = {torch::ones({}, torch::TensorOptions().device(place))};
  } else {
    s.module = std::make_shared<NetworkModule>(network, batch);
    s.module->to(place);
    s.module->train();
    s.parameters = s.module->parameters();
    for (std::size_t i = 0; i < network.nodes().size(); ++i) {
      if (network.nodes()[i].op != Op::kInput) continue;
      s.inputs.push_back(synthetic_input(network.nodes()[i], shapes[i], place));
      if (options.input_grad && shapes[i].dtype == DType::kFloat) {
        s.inputs.back().requires_grad_();
        s.leaves.push_back(s.inputs.back());
      }
    }
    for (int k : network.outputs()) {
      const Tensor& output = shapes[static_cast<std::size_t>(k)];
      if (output.dtype != DType::kFloat) {
        throw bad_input(describe(network.nodes()[static_cast<std::size_t>(k)]) +
                        ": an output of whole numbers cannot be trained");
      }
      // A given gradient is as large as the gradient of a mean would be.
      s.targets.push_back(options.loss ? synthetic_target(output, place)
                                       : random_floats(output.dims, place).div_(output.elements()));
    }
  }
  s.optimizer = make_optimizer(options.recipe.optimizer, s.parameters, options.learning_rate);
}

Trainer::~Trainer() = default;

void Trainer::State::forward() {
  PrecisionScope scope(options.recipe, cpu);
  results = module->forward(inputs);
  if (!options.loss) return;
  torch::Tensor sum;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const torch::Tensor one = loss_of(results[i], targets[i]);
    sum = sum.defined() ? sum + one : one;
  }
  loss = sum;
}

// `keep_graph`: so that it can be gone over again.
void Trainer::State::backward(bool keep_graph) {
  if (options.loss) {
    // Weightless and no input gradient: nothing to do.
    if (loss.requires_grad()) loss.backward({}, keep_graph);
    return;
  }
  Tensors roots, gradients;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].requires_grad()) continue;
    roots.push_back(results[i]);
    targets[i] = targets[i].to(results[i].scalar_type());  // once: a later layer would hand it over so
    gradients.push_back(targets[i]);
  }
  if (!keep_graph) results.clear();
  if (!roots.empty()) torch::autograd::backward(roots, gradients, keep_graph);
}

void Trainer::State::train_network() {
  forward();
  if (output_shapes.empty()) {
    for (const torch::Tensor& r : results) output_shapes.push_back(r.sizes().vec());
  }
  if (options.loss) results.clear();
  backward(false);
  if (options.loss) loss = loss.detach();
}

void Trainer::State::run_phase(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      if (module) forward();
      break;
    case Phase::kBackward:
      forget_gradients();
      if (!module) {
        parameters[0].backward(targets[0]);
        break;
      }
      if (results.empty()) forward();
      backward(true);
      break;
    default:
      if (optimizer) optimizer->step();
  }
}

int Trainer::iterations_per_step() const { return state_->captured ? state_->captured->copies() : 1; }

void Trainer::step(Phase phase) {
  State& s = *state_;
  if (s.captured) {
    s.captured->run();
    return;
  }
  if (phase != Phase::kIteration) {
    s.run_phase(phase);
    return;
  }
  s.forget_gradients();
  if (s.module) {
    s.train_network();
  } else {
    s.parameters[0].backward(s.targets[0]);
  }
  if (s.optimizer) s.optimizer->step();
}

void Trainer::feed(const at::Tensor& input, const at::Tensor& classes) {
  state_->inputs = {input};
  state_->targets = {classes};
}

void Trainer::set_learning_rate(double rate) {
  if (!state_->optimizer) return;
  for (auto& group : state_->optimizer->param_groups()) group.options().set_lr(rate);
}

at::Tensor Trainer::evaluate(const at::Tensor& input) {
  State& s = *state_;
  PrecisionScope scope(s.options.recipe, s.cpu);
  s.module->eval();
  const Tensors out = s.module->forward({input});
  s.module->train();
  return out[0];
}

std::optional<double> Trainer::last_loss() const {
  if (!state_->loss.defined()) return std::nullopt;
  return state_->loss.item<double>();
}

std::vector<std::vector<std::int64_t>> Trainer::output_shapes() const { return state_->output_shapes; }

bool Trainer::has_input_gradients() const {
  const auto& leaves = state_->leaves;
  return !leaves.empty() && std::all_of(leaves.begin(), leaves.end(), [](const torch::Tensor& t) {
    return t.grad().defined() && t.grad().sizes() == t.sizes();
  });
}

std::int64_t Trainer::parameters() const {
  std::int64_t count = 0;
  if (state_->module) {
    for (const torch::Tensor& p : state_->parameters) count += p.numel();
  }
  return count;
}

}  // namespace ampere::worker

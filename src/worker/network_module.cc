#include "worker/network_module.h"

#include <algorithm>

#include "base/error.h"

namespace ampere::worker {
namespace {

// An index outside its table ends a CUDA context for good, so it is refused before it can happen.
void check_indices(const Network& network, const std::vector<Tensor>& shapes) {
  std::vector<std::int64_t> values(network.nodes().size(), 0);  // distinct values of int nodes
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    const Node& node = network.nodes()[i];
    if (node.op == Op::kInput && shapes[i].dtype == DType::kInt) values[i] = node.integer("classes");
    for (int in : node.inputs) values[i] = std::max(values[i], values[static_cast<std::size_t>(in)]);
    if (node.op == Op::kEmbedding) {
      if (values[i] > node.integer("vocabulary")) {
        throw bad_input(describe(node) + ": reads numbers below " + std::to_string(values[i]) +
                        ", but its vocabulary is " + std::to_string(node.integer("vocabulary")));
      }
      values[i] = 0;
    }
    const bool arithmetic = node.op == Op::kAdd || node.op == Op::kMul;
    if (arithmetic && shapes[i].dtype == DType::kInt) {
      throw bad_input(describe(node) + ": adding or multiplying int tensors cannot be trained");
    }
  }
}

}  // namespace

NetworkModule::NetworkModule(const Network& network, std::int64_t batch) : outputs_(network.outputs()) {
  const std::vector<Tensor> shapes = infer_shapes(network, batch);
  check_indices(network, shapes);
  const auto& nodes = network.nodes();
  std::vector<int> last_reader(nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Step step;
    step.inputs = nodes[i].inputs;
    std::vector<Tensor> in;
    for (int k : nodes[i].inputs) {
      in.push_back(shapes[static_cast<std::size_t>(k)]);
      last_reader[static_cast<std::size_t>(k)] = static_cast<int>(i);
    }
    if (nodes[i].op != Op::kInput) step.apply = make_op(nodes[i], in, *this);
    steps_.push_back(std::move(step));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool kept = std::find(outputs_.begin(), outputs_.end(), static_cast<int>(i)) != outputs_.end();
    if (last_reader[i] >= 0 && !kept) {
      steps_[static_cast<std::size_t>(last_reader[i])].finished.push_back(static_cast<int>(i));
    }
  }
}

std::vector<torch::Tensor> NetworkModule::forward(const std::vector<torch::Tensor>& inputs) {
  Values values(steps_.size());
  std::size_t next_input = 0;
  Values in;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (!step.apply) {
      values[i] = inputs.at(next_input++);
      continue;
    }
    in.clear();
    for (int k : step.inputs) in.push_back(values[static_cast<std::size_t>(k)]);
    values[i] = step.apply(in);
    for (int k : step.finished) values[static_cast<std::size_t>(k)].reset();
  }
  Values out;
  for (int k : outputs_) out.push_back(values[static_cast<std::size_t>(k)]);
  return out;
}

}  // namespace ampere::worker

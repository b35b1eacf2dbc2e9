#include "network/cost.h"

#include <algorithm>

namespace ampere {
namespace {

constexpr double kBytesPerFloat = 4;

double elements(const Tensor& t) { return static_cast<double>(t.elements()); }
double last(const Tensor& t) { return static_cast<double>(t.dims.back()); }

// Forward FLOPs of the matrix products, and the number of trained weights.
struct Work {
  double product_flops = 0;
  double parameters = 0;
  double shared = 0;  // weights that another node holds and updates
};

Work conv_work(const Node& node, const Tensor& in, const Tensor& out) {
  double taps = 1;
  for (std::int64_t k : spread(node, "kernel", in.dims.size() - 2)) taps *= static_cast<double>(k);
  const double groups = static_cast<double>(groups_of(node, in.dims[1]));
  const double per_output = taps * static_cast<double>(in.dims[1]) / groups;
  const double channels = static_cast<double>(out.dims[1]);
  return {2 * elements(out) * per_output, channels * per_output + (node.flag("bias") ? channels : 0)};
}

Work linear_work(const Node& node, const Tensor& in, const Tensor& out) {
  const double weights = last(in) * last(out);
  const double bias = node.flag("bias") ? last(out) : 0;
  const bool tied = node.flag("tied");
  return {2 * elements(in) * last(out), (tied ? 0 : weights) + bias, tied ? weights : 0};
}

// Scattered instead of gathered: every input element meets every tap.
Work conv_transpose_work(const Node& node, const Tensor& in, const Tensor& out) {
  double taps = 1;
  for (std::int64_t k : spread(node, "kernel", in.dims.size() - 2)) taps *= static_cast<double>(k);
  const double channels = static_cast<double>(out.dims[1]);
  const double per_input = taps * channels / static_cast<double>(node.integer("groups"));
  return {2 * elements(in) * per_input,
          static_cast<double>(in.dims[1]) * per_input + (node.flag("bias") ? channels : 0)};
}

// Positions, of all samples and windows together.
double rows_of(const Tensor& t) { return elements(t) / last(t); }
double length_of(const Tensor& t) { return static_cast<double>(t.dims[t.dims.size() - 2]); }

// The two products of attention, without projections; every window attends to itself.
Work core_work(const Node& node, const std::vector<Tensor>& in, const Tensor& out) {
  const double keys = length_of(in[in.size() > 1 ? 1 : 0]);
  const double width = in.size() > 1 ? last(in[0]) : last(out);
  return {2 * rows_of(out) * keys * (width + last(out)),
          static_cast<double>(node.integer("rows")) * static_cast<double>(node.integer("heads"))};
}

double learned_parameters(const Node& node, const Tensor& in) {
  if (node.op == Op::kLearnedAdd && node.integer("rows") > 0)
    return static_cast<double>(node.integer("rows")) * last(in);
  double count = 1;
  for (std::int64_t d : learned_shape(node, in)) count *= static_cast<double>(d);
  return count;
}

Work recurrent_work(const Node& node, const Tensor& in) {
  const double gates = node.op == Op::kLstm ? 4 : 3;
  const double hidden = static_cast<double>(node.integer("hidden_size"));
  const double directions = node.flag("bidirectional") ? 2 : 1;
  const double steps = static_cast<double>(in.dims[0] * in.dims[1]);
  Work work;
  double width = last(in);
  for (std::int64_t layer = 0; layer < node.integer("num_layers"); ++layer) {
    const double weights = gates * hidden * (width + hidden);
    work.product_flops += 2 * steps * directions * weights;
    work.parameters += directions * (weights + (node.flag("bias") ? 2 * gates * hidden : 0));
    width = hidden * directions;
  }
  return work;
}

// Projections of query, key, value and output, and the two products of the attention itself.
Work attention_work(double queries, double keys, double batch, double width, bool bias) {
  const double rows = 2 * queries + 2 * keys;
  return {2 * batch * rows * width * width + 4 * batch * queries * keys * width,
          4 * width * width + (bias ? 4 * width : 0)};
}

Work encoder_work(const Node& node, const Tensor& in) {
  const double batch = static_cast<double>(in.dims[0]);
  const double length = static_cast<double>(in.dims[1]);
  const double width = last(in);
  const double inner = static_cast<double>(node.integer("feedforward"));
  Work work = attention_work(length, length, batch, width, true);
  work.product_flops += 4 * batch * length * width * inner;
  work.parameters += 2 * width * inner + inner + width + 4 * width;  // feed-forward, two layer norms
  return work;
}

Work work_of(const Node& node, const std::vector<Tensor>& in, const Tensor& out) {
  switch (node.op) {
    case Op::kConv1d:
    case Op::kConv2d:
      return conv_work(node, in[0], out);
    case Op::kLinear:
      return linear_work(node, in[0], out);
    case Op::kConvTranspose2d:
      return conv_transpose_work(node, in[0], out);
    case Op::kAttentionCore:
      return core_work(node, in, out);
    case Op::kLearnedAdd:
    case Op::kLearnedMul:
      return {0, learned_parameters(node, in[0])};
    case Op::kClassToken:
      return {0, static_cast<double>(node.integer("count")) * last(in[0])};
    case Op::kEmbedding:
      return {0, static_cast<double>(node.integer("vocabulary")) * last(out)};
    case Op::kLstm:
    case Op::kGru:
      return recurrent_work(node, in[0]);
    case Op::kAttention:
      return attention_work(static_cast<double>(in[0].dims[1]),
                            static_cast<double>(in[in.size() > 1 ? 1 : 0].dims[1]),
                            static_cast<double>(in[0].dims[0]), last(in[0]), node.flag("bias"));
    case Op::kEncoderLayer:
      return encoder_work(node, in[0]);
    case Op::kMatmul:
      return {2 * elements(in[0]) * last(out), 0};
    case Op::kBatchNorm:
    case Op::kGroupNorm:
      return {0, node.flag("affine") ? 2 * static_cast<double>(in[0].dims[1]) : 0};
    case Op::kLayerNorm: {
      double width = 1;
      for (std::int64_t i = 0; i < node.integer("axes"); ++i) {
        width *= static_cast<double>(in[0].dims[in[0].dims.size() - 1 - static_cast<std::size_t>(i)]);
      }
      return {0, node.flag("affine") ? 2 * width : 0};
    }
    default:
      return {};
  }
}

// FLOPs per output element of ops that are not matrix products; 0 for those that only move data.
double element_flops(const Node& node) {
  switch (node.op) {
    case Op::kInput:
    case Op::kConv1d:
    case Op::kConv2d:
    case Op::kLinear:
    case Op::kEmbedding:
    case Op::kMatmul:
    case Op::kIdentity:
    case Op::kFlatten:
    case Op::kReshape:
    case Op::kPermute:
    case Op::kSlice:
    case Op::kConcat:
    case Op::kClassToken:
    case Op::kChannelShuffle:
    case Op::kConvTranspose2d:
    case Op::kRoll:
      return 0;
    case Op::kBatchNorm:
    case Op::kLayerNorm:
    case Op::kGroupNorm:
    case Op::kGelu:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
    case Op::kLstm:
    case Op::kGru:
      return 5;
    case Op::kEncoderLayer:
      return 20;
    case Op::kMaxPool:
    case Op::kAvgPool: {
      double taps = 1;
      for (std::int64_t k : node.list("kernel")) taps *= static_cast<double>(k);
      return taps;
    }
    default:
      return 1;
  }
}

// Ops that hand on the same memory under another shape.
bool moves_nothing(Op op) {
  return op == Op::kInput || op == Op::kIdentity || op == Op::kFlatten || op == Op::kReshape;
}

// Numbers per output element that stay inside a composite op (attention weights, feed-forward
// activations, gates), on top of its input and output.
double inner_elements(const Node& node, const std::vector<Tensor>& inputs) {
  const Tensor& in = inputs[0];
  const double rows = static_cast<double>(in.dims[0]) * (in.rank() > 1 ? static_cast<double>(in.dims[1]) : 1);
  const double length = in.rank() > 1 ? static_cast<double>(in.dims[1]) : 1;
  switch (node.op) {
    case Op::kLstm:
    case Op::kGru: {
      const double gates = node.op == Op::kLstm ? 6 : 5;
      const double passes =
          static_cast<double>(node.integer("num_layers")) * (node.flag("bidirectional") ? 2 : 1);
      return gates * passes * rows * static_cast<double>(node.integer("hidden_size"));
    }
    case Op::kAttention:
      return 4 * rows * last(in) + 2 * rows * length * static_cast<double>(node.integer("heads"));
    case Op::kAttentionCore:
      return 2 * rows_of(in) * length_of(inputs[inputs.size() > 1 ? 1 : 0]) *
             static_cast<double>(node.integer("heads"));
    case Op::kEncoderLayer:
      return 8 * rows * last(in) + 2 * rows * length * static_cast<double>(node.integer("heads")) +
             2 * rows * static_cast<double>(node.integer("feedforward"));
    default:
      return 0;
  }
}

}  // namespace

Cost& Cost::operator+=(const Cost& o) {
  forward_flops += o.forward_flops;
  backward_flops += o.backward_flops;
  update_flops += o.update_flops;
  forward_bytes += o.forward_bytes;
  backward_bytes += o.backward_bytes;
  update_bytes += o.update_bytes;
  parameters += o.parameters;
  activation_bytes += o.activation_bytes;
  return *this;
}

Cost node_cost(const Node& node, const std::vector<Tensor>& inputs, const Tensor& output, bool input_grad) {
  Cost cost;
  if (moves_nothing(node.op)) return cost;
  if (node.op == Op::kCalls) {  // all phases together, as they were counted when they were captured
    cost.forward_flops = static_cast<double>(node.integer("flops"));
    cost.forward_bytes = static_cast<double>(node.integer("bytes"));
    cost.parameters = static_cast<double>(node.integer("parameters"));
    return cost;
  }
  const Work work = work_of(node, inputs, output);
  double in_elements = 0;
  for (const Tensor& t : inputs) in_elements += elements(t);
  const double inner = inner_elements(node, inputs);
  const double touched = in_elements + elements(output) + inner;

  cost.parameters = work.parameters;
  cost.activation_bytes = kBytesPerFloat * (elements(output) + inner);
  cost.forward_flops = work.product_flops + element_flops(node) * elements(output);
  // Backward: one product for the weights' gradient, one more for the input's where it is wanted.
  const bool weighted = work.parameters + work.shared > 0 && work.product_flops > 0;
  const double passes = (weighted ? 1.0 : 0.0) + (input_grad ? 1.0 : 0.0);
  const double products = node.op == Op::kMatmul || node.op == Op::kAttentionCore ? 2 : passes;
  cost.backward_flops = products * work.product_flops + element_flops(node) * elements(output);
  const double read = node.op == Op::kEmbedding ? 0 : work.parameters + work.shared;
  cost.forward_bytes = kBytesPerFloat * (touched + read);
  cost.backward_bytes =
      kBytesPerFloat * (touched + (input_grad ? in_elements : 0) + 2 * (work.parameters + work.shared));
  cost.update_flops = 2 * work.parameters;
  cost.update_bytes = kBytesPerFloat * 3 * work.parameters;
  return cost;
}

std::vector<bool> gradient_into(const Network& network, bool input_grad) {
  const auto& nodes = network.nodes();
  std::vector<bool> into(nodes.size(), false);
  std::vector<bool> trained(nodes.size(), false);  // the node's output depends on something trained
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (int k : nodes[i].inputs) into[i] = into[i] || trained[static_cast<std::size_t>(k)];
    const OpClass c = spec_of(nodes[i].op).op_class;
    const bool wanted = c == OpClass::kSource && input_grad && nodes[i].word("dtype") == "float";
    const bool plain = nodes[i].attrs.count("affine") > 0 && !nodes[i].flag("affine");
    const bool bias = nodes[i].op == Op::kAttentionCore && nodes[i].integer("rows") > 0;
    trained[i] = wanted || into[i] || c == OpClass::kWeighted || (c == OpClass::kNorm && !plain) || bias;
  }
  return into;
}

std::vector<Cost> node_costs(const Network& network, std::int64_t batch, bool input_grad) {
  const std::vector<Tensor> shapes = infer_shapes(network, batch);
  const std::vector<bool> into = gradient_into(network, input_grad);
  const auto& nodes = network.nodes();
  std::vector<Cost> costs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<Tensor> in;
    for (int k : nodes[i].inputs) in.push_back(shapes[static_cast<std::size_t>(k)]);
    costs.push_back(node_cost(nodes[i], in, shapes[i], into[i]));
  }
  return costs;
}

Cost network_cost(const Network& network, std::int64_t batch, bool input_grad) {
  Cost total;
  for (const Cost& c : node_costs(network, batch, input_grad)) total += c;
  return total;
}

}  // namespace ampere

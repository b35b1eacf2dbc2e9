#include "onednn/network_graph.h"

#include <algorithm>
#include <dnnl.hpp>
#include <map>

#include "base/error.h"
#include "network/shape.h"
#include "onednn/operations.h"

namespace ampere::onednn {
namespace {

constexpr float kTableDeviation = 0.02F;  // of tables of positions

class Builder {
 public:
  Builder(Graph& graph, bool input_grad) : graph_(graph), input_grad_(input_grad) {}

  Value* input(const Node& node, const Tensor& shape) {
    const bool whole = shape.dtype == DType::kInt;
    Value* made = graph_.value(shape.dims, shape.rank() == 4 ? Layout::kChannelsLast : Layout::kRows);
    made->whole_numbers = whole;
    made->wants_gradient = !whole && input_grad_;
    if (whole) {
      fill_whole(graph_.random(), made->data.data(), made->elements(), node.integer("classes"));
    } else {
      fill_normal(graph_.random(), made->data.data(), made->elements());
    }
    classes_[made] = whole ? node.integer("classes") : 0;
    return made;
  }

  Value* operation(const Node& node, const std::vector<Value*>& in, const Tensor& shape);

 private:
  Value* embedding(const Node& node, Value* in);
  Value* tied_linear(const Node& node, Value* in);
  Value* learned(const Node& node, Value* in);
  Value* mean(const Node& node, Value* in, const Tensor& shape);
  Value* slice(const Node& node, Value* in, const Tensor& shape);
  Value* roll(const Node& node, Value* in);

  Graph& graph_;
  bool input_grad_;
  std::map<const Value*, std::int64_t> classes_;  // of values that hold whole numbers, or come of such
  std::vector<Value*> tables_;                    // of embeddings, for layers that are tied to one
};

std::size_t axis_from(std::int64_t axis, const Value& in) {
  return static_cast<std::size_t>(axis < 0 ? axis + in.rank() : axis);
}

Value* Builder::embedding(const Node& node, Value* in) {
  const std::int64_t rows = node.integer("vocabulary");
  if (!in->whole_numbers) throw bad_input(describe(node) + ": reads whole numbers only");
  if (classes_[in] > rows) {
    throw bad_input(describe(node) + ": reads numbers below " + std::to_string(classes_[in]) +
                    ", but its vocabulary is " + std::to_string(rows));
  }
  Value* table = graph_.parameter({rows, node.integer("dim")}, 0);
  fill_normal(graph_.random(), table->data.data(), table->elements());
  tables_.push_back(table);
  return looked_up(graph_, in, table);
}

// Without such an embedding, the layer has weights that get a gradient and are never updated: the embedding
// elsewhere does that.
Value* Builder::tied_linear(const Node& node, Value* in) {
  const Dims wanted = {node.integer("out_features"), in->dims.back()};
  for (Value* table : tables_) {
    if (table->dims == wanted) return linear(graph_, in, wanted[0], node.flag("bias"), table);
  }
  Value* weights = graph_.value(wanted);
  weights->wants_gradient = true;
  fill_normal(graph_.random(), weights->data.data(), weights->elements(), kTableDeviation);
  return linear(graph_, in, wanted[0], node.flag("bias"), weights);
}

Value* Builder::learned(const Node& node, Value* in) {
  const bool multiply = node.op == Op::kLearnedMul;
  if (!multiply && node.integer("rows") > 0) {
    Value* table = graph_.parameter({node.integer("rows"), in->dims.back()}, 0);
    fill_normal(graph_.random(), table->data.data(), table->elements());
    Value* places = graph_.value({in->dims[1]});
    for (std::int64_t i = 0; i < places->elements(); ++i)
      places->data.data()[i] = static_cast<float>(i % node.integer("rows"));
    return sum(graph_, in, looked_up(graph_, places, table));
  }
  Value* weights = graph_.parameter(learned_shape(node, Tensor{in->dims}), 0, multiply ? 1 : 0);
  if (multiply) return multiplied(graph_, in, weights);
  fill_normal(graph_.random(), weights->data.data(), weights->elements(), kTableDeviation);
  return sum(graph_, in, weights);
}

Value* Builder::mean(const Node& node, Value* in, const Tensor& shape) {
  std::vector<bool> gone(in->dims.size(), false);
  for (const std::int64_t axis : node.list("axes")) gone[axis_from(axis, *in)] = true;
  return mean_over(graph_, in, gone, shape.dims);
}

Value* Builder::slice(const Node& node, Value* in, const Tensor& shape) {
  const std::size_t axis = axis_from(node.integer("axis"), *in);
  const std::int64_t size = in->dims[axis], start = node.integer("start");
  const std::int64_t first = std::clamp<std::int64_t>(start < 0 ? start + size : start, 0, size);
  return sliced(graph_, in, axis, first, node.integer("step"), shape.dims[axis]);
}

Value* Builder::roll(const Node& node, Value* in) {
  const auto &shifts = node.list("shifts"), &axes = node.list("axes");
  for (std::size_t i = 0; i < axes.size(); ++i) in = rolled(graph_, in, axis_from(axes[i], *in), shifts[i]);
  return in;
}

Value* Builder::operation(const Node& node, const std::vector<Value*>& in, const Tensor& shape) {
  Graph& g = graph_;
  Value* x = in.at(0);
  std::int64_t classes = 0;
  for (const Value* v : in) classes = std::max(classes, classes_[v]);
  const bool arithmetic = node.op == Op::kAdd || node.op == Op::kMul;
  if (arithmetic && x->whole_numbers)
    throw bad_input(describe(node) + ": adding or multiplying int tensors cannot be trained");
  Value* out = nullptr;
  switch (node.op) {
    case Op::kConv1d:
    case Op::kConv2d:
      return convolution(g, node, x, shape.dims);
    case Op::kConvTranspose2d:
      return transposed_convolution(g, node, x, shape.dims);
    case Op::kLinear:
      return node.flag("tied") ? tied_linear(node, x)
                               : linear(g, x, node.integer("out_features"), node.flag("bias"));
    case Op::kEmbedding:
      return embedding(node, x);
    case Op::kLstm:
    case Op::kGru:
      return recurrent(g, node, x);
    case Op::kAttention:
      return attention(g, in, node.integer("heads"), node.flag("bias"), 0);
    case Op::kAttentionCore:
      return attention_core(g, node, in);
    case Op::kEncoderLayer:
      return encoder_layer(g, node, x);
    case Op::kBatchNorm:
      return batch_norm(g, x, node.flag("affine"));
    case Op::kLayerNorm: {
      const Dims last(x->dims.end() - node.integer("axes"), x->dims.end());
      return layer_norm(g, x, product(last), node.flag("affine"));
    }
    case Op::kGroupNorm:
      return group_norm(g, x, node.integer("groups"), node.flag("affine"));
    case Op::kRelu:
    case Op::kRelu6:
    case Op::kLeakyRelu:
    case Op::kElu:
    case Op::kGelu:
    case Op::kSilu:
    case Op::kHardswish:
    case Op::kHardsigmoid:
    case Op::kSigmoid:
    case Op::kTanh:
      return activation(g, node, x);
    case Op::kSoftmax:
    case Op::kLogSoftmax:
      return softmax(g, x, static_cast<int>(axis_from(node.integer("axis"), *x)), node.op == Op::kLogSoftmax);
    case Op::kMaxPool:
    case Op::kAvgPool:
      return pool(g, node, x, shape.dims);
    case Op::kAdaptiveAvgPool:
      return adaptive_pool(g, x, shape.dims);
    case Op::kUpsample:
      return upsampled(g, x, shape.dims, node.word("mode") == "nearest");
    case Op::kDropout:
    case Op::kDropPath:
      return dropped(g, x, node.real("p"), node.op == Op::kDropPath);
    case Op::kAdd:
      out = x;
      for (std::size_t i = 1; i < in.size(); ++i) out = sum(g, out, in[i]);
      return out;
    case Op::kMul:
      return multiplied(g, x, in.at(1));
    case Op::kMatmul:
      return matrix_product(g, x, in.at(1), false, 1);
    case Op::kScale:
      return scaled(g, x, 1);
    case Op::kMean:
      return mean(node, x, shape);
    case Op::kLearnedAdd:
    case Op::kLearnedMul:
      return learned(node, x);
    case Op::kClassToken:
      return with_tokens(g, x, node.integer("count"));
    case Op::kChannelShuffle:
      return shuffled(g, x, node.integer("groups"));
    case Op::kIdentity:
      return x;
    case Op::kConcat:
      out = concatenated(g, in, axis_from(node.integer("axis"), *x));
      break;
    case Op::kFlatten:
    case Op::kReshape:
      out = shape.dims == x->dims ? x : reshaped(g, x, shape.dims);
      break;
    case Op::kPermute:
      out = permuted(g, x, node.list("order"));
      break;
    case Op::kSlice:
      out = slice(node, x, shape);
      break;
    case Op::kRoll:
      out = roll(node, x);
      break;
    case Op::kInput:
    case Op::kCalls:
      throw bad_input(describe(node) + ": this worker cannot train calls of PyTorch; use ampere-worker");
  }
  classes_[out] = classes;
  return out;
}

}  // namespace

NetworkGraph build(Graph& graph, const Network& network, std::int64_t batch, bool input_grad) {
  const std::vector<Tensor> shapes = infer_shapes(network, batch);
  NetworkGraph made;
  Builder builder(graph, input_grad);
  std::vector<Value*> values;
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    const Node& node = network.nodes()[i];
    if (node.op == Op::kInput) {
      values.push_back(builder.input(node, shapes[i]));
      made.inputs.push_back(values.back());
      continue;
    }
    std::vector<Value*> in;
    for (const int k : node.inputs) in.push_back(values[static_cast<std::size_t>(k)]);
    try {
      values.push_back(builder.operation(node, in, shapes[i]));
    } catch (const dnnl::error& e) {
      throw bad_input(describe(node) + ": oneDNN has no kernel that trains it (" + e.what() + ")");
    }
  }
  for (const int k : network.outputs()) {
    Value* out = values[static_cast<std::size_t>(k)];
    if (out->whole_numbers) {
      throw bad_input(describe(network.nodes()[static_cast<std::size_t>(k)]) +
                      ": an output of whole numbers cannot be trained");
    }
    // The gradient of an output is given, so nothing else may add to it: what is read again is copied first.
    const bool listed = std::find(made.outputs.begin(), made.outputs.end(), out) != made.outputs.end();
    made.outputs.push_back(listed || graph.is_read(out) ? scaled(graph, out, 1) : out);
  }
  graph.finish(made.outputs);
  return made;
}

}  // namespace ampere::onednn

#include "work/layer_calls.h"

#include <algorithm>
#include <memory>

#include "network/shape.h"
#include "work/call_tape.h"
#include "work/optimizer_calls.h"

namespace ampere {
namespace {

using T = CallTape::T;
using Sizes = CallTape::Sizes;
constexpr T kNone = CallTape::kNone;

Json arg(T t) { return CallTape::argument(t); }

// Each op as its forward calls, and what its backward calls will be.
class NetworkCalls {
 public:
  NetworkCalls(const Network& network, std::int64_t batch, const StepStyle& style)
      : network_(network), shapes_(infer_shapes(network, batch)), style_(style) {}

  StepCalls make() {
    std::vector<T> values;
    for (std::size_t i = 0; i < network_.nodes().size(); ++i) {
      const Node& node = network_.nodes()[i];
      std::vector<T> in;
      for (const int k : node.inputs) in.push_back(values[static_cast<std::size_t>(k)]);
      values.push_back(node.op == Op::kInput ? input(shapes_[i]) : made(node, in, shapes_[i].dims));
    }
    std::vector<T> results;
    for (const int k : network_.outputs()) {
      const T result = values[static_cast<std::size_t>(k)];
      results.push_back(style_.loss ? loss(result) : result);
    }
    tape_.backward(results);
    tape_.begin_update();
    StepCalls out;
    for (const CallTape::Update& u : tape_.updates()) out.trained.emplace_back(u.weight, u.gradient);
    add_update_calls(tape_, style_.optimizer, style_.calls.updates_together);
    out.memories = tape_.memories();
    out.body = std::move(tape_).body();
    return out;
  }

 private:
  T input(const Tensor& shape) {
    if (shape.dtype == DType::kInt) return tape_.tensor(shape.dims, TensorType::kLong);
    return tape_.tensor(shape.dims, TensorType::kFloat, style_.input_gradient);
  }

  // What autocast lowers, what it raises, and what it raises on accelerators only.
  T lowered(T x) { return style_.half ? tape_.cast(x, TensorType::kHalf) : x; }
  T raised(T x) { return style_.half ? tape_.cast(x, TensorType::kFloat) : x; }
  T raised_there(T x) { return style_.calls.accelerator ? raised(x) : x; }

  T made(const Node& node, const std::vector<T>& in, const Sizes& out) {
    const T x = in.front();
    switch (node.op) {
      case Op::kConv1d:
      case Op::kConv2d:
      case Op::kConvTranspose2d:
        return convolution(node, x, out);
      case Op::kLinear:
        return linear(x, out.back(), node.flag("bias"), !node.flag("tied"));
      case Op::kEmbedding:
        return embedding(x, node.integer("vocabulary"), out);
      case Op::kLstm:
      case Op::kGru:
        return recurrent(node, x, out);
      case Op::kAttention:
        return in.size() == 1 ? self_attention(x, node.integer("heads"), node.flag("bias"), 0)
                              : cross_attention(node, in);
      case Op::kEncoderLayer:
        return encoder(node, x);
      case Op::kAttentionCore:
        return attention_core(node, in);
      case Op::kBatchNorm:
        return batch_norm(x, node.flag("affine"));
      case Op::kLayerNorm:
        return layer_norm(x, node.integer("axes"), node.flag("affine"));
      case Op::kGroupNorm:
        return group_norm(x, node.integer("groups"), node.flag("affine"));
      case Op::kRelu:
        return function("relu", "threshold_backward", x, true);
      case Op::kRelu6:
        return function("hardtanh", "hardtanh_backward", x);
      case Op::kLeakyRelu:
        return function("leaky_relu", "leaky_relu_backward", x);
      case Op::kElu:
        return function("elu", "elu_backward", x);
      case Op::kGelu:
        return function("gelu", "gelu_backward", x);
      case Op::kSilu:
        return function("silu", "silu_backward", x);
      case Op::kHardswish:
        return function("hardswish", "hardswish_backward", x);
      case Op::kHardsigmoid:
        return function("hardsigmoid", "hardsigmoid_backward", x);
      case Op::kSigmoid:
        return function("sigmoid", "sigmoid_backward", x, true);
      case Op::kTanh:
        return function("tanh", "tanh_backward", x, true);
      case Op::kSoftmax:
        return function("_softmax", "_softmax_backward_data", raised_there(x), true);
      case Op::kLogSoftmax:
        return function("_log_softmax", "_log_softmax_backward_data", raised_there(x), true);
      case Op::kMaxPool:
        return pooled("max_pool2d_with_indices", "max_pool2d_with_indices_backward", x, out, true);
      case Op::kAvgPool:
        return pooled("avg_pool2d", "avg_pool2d_backward", x, out, false);
      case Op::kAdaptiveAvgPool:
        if (std::all_of(out.begin() + 2, out.end(), [](std::int64_t d) { return d == 1; }))
          return mean(x, out);
        return pooled("_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward", x, out, false);
      case Op::kUpsample:
        return upsampled(node, raised_there(x), out);
      case Op::kDropout:
        return dropout(x, node.real("p"));
      case Op::kAdd: {
        T sum = x;
        for (std::size_t i = 1; i < in.size(); ++i) sum = add(sum, in[i]);
        return sum;
      }
      case Op::kMul:
        return mul(x, in[1]);
      case Op::kScale:
        return scaled(x);
      case Op::kConcat:
        return concat(in, node.integer("axis"), out);
      case Op::kMatmul:
        return matmul(x, in[1], out);
      case Op::kFlatten:
      case Op::kReshape:
        return tape_.view(x, out);
      case Op::kPermute:
        return tape_.permuted(x, node.list("order"));
      case Op::kSlice: {
        const auto axis = static_cast<int>(node.integer("axis"));
        return tape_.slice(x, axis, out[static_cast<std::size_t>(axis)], true);
      }
      case Op::kRoll:
        return moved("roll", x);
      case Op::kMean:
        return mean(x, out);
      case Op::kLearnedAdd:
        return node.integer("rows") > 0 ? add(x, positions(node, x))
                                        : add(x, tape_.weight(learned_shape(node, shape_of(x))));
      case Op::kLearnedMul:
        return mul(x, tape_.weight(learned_shape(node, shape_of(x))));
      case Op::kClassToken:
        return class_token(node, x, out);
      case Op::kDropPath:
        return drop_path(x);
      case Op::kChannelShuffle:
        return channel_shuffle(x, node.integer("groups"));
      case Op::kIdentity:
        return x;
      case Op::kInput:
      case Op::kCalls:
        break;
    }
    return unknown(node, in, out);
  }

  Tensor shape_of(T x) const { return {tape_.sizes(x), DType::kFloat}; }

  // What nobody described has a name of its own and says nothing of its gradient but that there is one.
  T unknown(const Node& node, const std::vector<T>& in, const Sizes& out) {
    const bool wants = std::any_of(in.begin(), in.end(), [&](T t) { return tape_.wants(t); });
    const T y = tape_.tensor(out, TensorType::kFloat, wants);
    const char* name = ampere::name_of(node.op);
    tape_.call(name, CallTape::arguments(in), {y});
    tape_.on_backward(y, [this, in, name](T g) {
      for (const T x : in) {
        if (!tape_.wants(x)) continue;
        const T made = tape_.like(x);
        tape_.call(name, Json::array({arg(g), arg(x)}), {made});
        tape_.give(x, made);
      }
    });
    return y;
  }

  T convolution(const Node& node, T given, const Sizes& out) {
    const bool transposed = node.op == Op::kConvTranspose2d;
    const std::size_t spatial = out.size() - 2;
    const std::int64_t in_channels = tape_.size(given, 1);
    const std::int64_t groups = transposed ? node.integer("groups") : groups_of(node, in_channels);
    Sizes weight_sizes =
        transposed ? Sizes{in_channels, out[1] / groups} : Sizes{out[1], in_channels / groups};
    for (const std::int64_t k : spread(node, "kernel", spatial)) weight_sizes.push_back(k);
    const T bias = node.flag("bias") ? lowered(tape_.weight({out[1]})) : kNone;
    const T weight = lowered(tape_.weight(weight_sizes));
    const T x = lowered(given);
    const T y = tape_.tensor(out, tape_.type(x), true);
    const Json none = Json(Sizes(spatial, 0)), one = Json(Sizes(spatial, 1));
    const Json stride = spread(node, "stride", spatial);
    const Json padding = spread(node, "padding", spatial);
    const Json dilation = transposed ? one : Json(spread(node, "dilation", spatial));
    tape_.call(
        "convolution",
        Json::array({arg(x), arg(weight), arg(bias), stride, padding, dilation, transposed, none, groups}),
        {y});
    tape_.on_backward(y, [=, this](T g) {
      const T gx = tape_.wants(x) ? tape_.tensor(tape_.sizes(x), tape_.type(x)) : kNone;
      const T gw = tape_.tensor(tape_.sizes(weight), tape_.type(weight));
      const T gb = bias == kNone ? kNone : tape_.tensor(tape_.sizes(bias), tape_.type(bias));
      tape_.call("convolution_backward",
                 Json::array({arg(g), arg(x), arg(weight), Json(nullptr), stride, padding, dilation,
                              transposed, none, groups, Json::array({gx != kNone, true, gb != kNone})}),
                 {gx, gw, gb});
      if (gx != kNone) tape_.give(x, gx);
      tape_.give(weight, gw);
      if (gb != kNone) tape_.give(bias, gb);
    });
    return y;
  }

  // Another look at a matrix, rows as columns.
  T transposed(T x) {
    Sizes sizes = tape_.sizes(x), strides = tape_.strides(x);
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
    return tape_.look(x, std::move(sizes), std::move(strides));
  }

  T product(const char* op, T a, T b) {
    Sizes sizes = tape_.sizes(a);
    sizes.back() = tape_.size(b, -1);
    const T y = tape_.tensor(std::move(sizes), tape_.type(a));
    tape_.call(op, Json::array({arg(a), arg(b)}), {y});
    return y;
  }

  T linear(T given, std::int64_t out, bool with_bias, bool trained) {
    const std::int64_t in = tape_.size(given, -1);
    const T bias = with_bias ? lowered(tape_.weight({out})) : kNone;
    const T weight = lowered(trained ? tape_.weight({out, in}) : table_of(out, in));
    const T x = lowered(given);
    Sizes sizes = tape_.sizes(x);
    sizes.back() = out;
    const T flat = tape_.view(x, {tape_.elements(x) / in, in});
    const T y = tape_.tensor({tape_.size(flat, 0), out}, tape_.type(x), true);
    if (bias == kNone)
      tape_.call("mm", Json::array({arg(flat), arg(transposed(weight))}), {y});
    else
      tape_.call("addmm", Json::array({arg(bias), arg(flat), arg(transposed(weight))}), {y});
    tape_.on_backward(y, [=, this](T g) {
      if (tape_.wants(flat)) tape_.give(flat, product("mm", g, weight));
      tape_.give(weight, product("mm", transposed(g), flat));
      if (bias == kNone) return;
      const T sum = tape_.tensor(tape_.sizes(bias), tape_.type(g));
      tape_.call("sum", Json::array({arg(g), Json::array({0}), true}), {sum});
      tape_.give(bias, sum);
    });
    return tape_.view(y, sizes);
  }

  // That an embedding holds and updates; in a layer by itself there is none.
  T table_of(std::int64_t rows, std::int64_t width) {
    for (const T table : tables_) {
      if (tape_.sizes(table) == Sizes{rows, width}) return table;
    }
    return tape_.tensor({rows, width}, TensorType::kFloat, true);
  }

  T embedding(T places, std::int64_t rows, const Sizes& out) {
    const T table = tape_.weight({rows, out.back()});
    tables_.push_back(table);
    const T y = tape_.tensor(out, TensorType::kFloat, true);
    tape_.call("embedding", Json::array({arg(table), arg(places)}), {y});
    tape_.on_backward(y, [=, this](T g) {
      const T sum = tape_.tensor(tape_.sizes(table));
      tape_.call("embedding_dense_backward", Json::array({arg(g), arg(places), rows}), {sum});
      tape_.give(table, sum);
    });
    return y;
  }

  T positions(const Node& node, T x) {
    const std::int64_t length = tape_.size(x, 1);
    return embedding(tape_.tensor({1, length}, TensorType::kLong), node.integer("rows"),
                     {1, length, tape_.size(x, -1)});
  }

  // Recorded as one call, since the framework chooses what runs (docs/capture.md).
  T recurrent(const Node& node, T x, const Sizes& out) {
    const bool lstm = node.op == Op::kLstm;
    const char* op = lstm ? "lstm" : "gru";
    const std::int64_t hidden = node.integer("hidden_size"), layers = node.integer("num_layers");
    const std::int64_t directions = node.flag("bidirectional") ? 2 : 1;
    const std::int64_t gates = (lstm ? 4 : 3) * hidden;
    const std::int64_t samples = out[0];
    std::vector<T> reads = {x}, weights;
    for (int i = 0; i < (lstm ? 2 : 1); ++i) {
      reads.push_back(tape_.tensor({layers * directions, samples, hidden}));
      tape_.call("zeros", Json::array(), {reads.back()});
    }
    const std::size_t states = reads.size() - 1;
    std::int64_t width = tape_.size(x, -1);
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      for (std::int64_t direction = 0; direction < directions; ++direction) {
        weights.push_back(tape_.weight({gates, width}));
        weights.push_back(tape_.weight({gates, hidden}));
        for (int i = 0; i < 2 && node.flag("bias"); ++i) weights.push_back(tape_.weight({gates}));
      }
      width = hidden * directions;
    }
    reads.insert(reads.end(), weights.begin(), weights.end());
    const TensorType type = style_.half ? TensorType::kHalf : TensorType::kFloat;
    // It is computed step by step, whatever order the caller wants.
    const T y = tape_.tensor(out, {out.back(), samples * out.back(), 1}, type, true);
    Json args = CallTape::arguments(reads);
    for (const Json& rest : {Json(node.flag("bias")), Json(layers), Json(0.0), Json(true),
                             Json(node.flag("bidirectional")), Json(true)})
      args.push_back(rest);
    std::vector<T> made = {y};
    for (std::size_t i = 0; i < states; ++i) made.push_back(tape_.like(reads[1 + i], type));
    const std::size_t number = tape_.call(op, std::move(args), made);
    if (style_.half) tape_.mark_autocast();
    tape_.on_backward(y, [=, this](T g) {
      if (!style_.calls.accelerator) {
        for (std::size_t i = 0; i < states; ++i)
          tape_.call("zeros", Json::array(), {tape_.like(reads[1 + i], type)});
      }
      std::vector<T> gradients = {tape_.wants(x) ? tape_.like(x) : kNone};
      for (const T w : weights) gradients.push_back(tape_.like(w));
      tape_.gradient_call(op, Json::array({arg(g)}), gradients, number);
      if (gradients.front() != kNone) tape_.give(x, gradients.front());
      for (std::size_t i = 0; i < weights.size(); ++i) tape_.give(weights[i], gradients[i + 1]);
    });
    return y;
  }

  // In heads: (..., heads, length, width of a head), of tensors that lie as (..., length, width).
  T in_heads(T x, std::int64_t heads) {
    Sizes sizes = tape_.sizes(x);
    const std::int64_t width = sizes.back() / heads;
    sizes.back() = heads;
    sizes.push_back(width);
    const T apart = tape_.view(x, sizes);
    return tape_.permuted(apart, heads_before(sizes.size()));
  }
  static Sizes heads_before(std::size_t rank) {
    Sizes order(rank);
    for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
    std::swap(order[rank - 3], order[rank - 2]);
    return order;
  }

  // Equal parts of the last dimension; their gradients become one tensor again.
  std::vector<T> parts_of(T x, int count) {
    Sizes part = tape_.sizes(x);
    part.back() /= count;
    std::vector<T> out;
    out.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      out.push_back(tape_.look(x, part, Sizes(tape_.strides(x)), tape_.wants(x)));
    auto given = std::make_shared<std::vector<T>>();
    for (const T t : out) {
      tape_.on_backward(t, [=, this](T g) {
        given->push_back(g);
        if (static_cast<int>(given->size()) < count) return;
        const T whole = tape_.tensor(tape_.sizes(x), tape_.type(x));
        tape_.call("cat", Json::array({CallTape::arguments(*given)}), {whole});
        tape_.give(x, whole);
      });
    }
    return out;
  }

  T attend(T q, T k, T v, double drop, T mask, bool causal) {
    if (!style_.calls.fused_attention) return attend_spelled_out(q, k, v, drop, mask);
    // As (..., length, heads, width of a head) in memory.
    const Sizes order = heads_before(tape_.sizes(q).size());
    Sizes sizes = tape_.sizes(q);
    sizes.back() = tape_.size(v, -1);
    const auto as_written = [=, this](Sizes wanted, TensorType type, bool wants) {
      Sizes lying;
      for (const std::int64_t i : order) lying.push_back(wanted[static_cast<std::size_t>(i)]);
      const T flat = tape_.tensor(lying, type);
      Sizes strides;
      for (const std::int64_t i : order) strides.push_back(tape_.strides(flat)[static_cast<std::size_t>(i)]);
      return tape_.tensor(std::move(wanted), std::move(strides), type, wants);
    };
    const TensorType type = style_.half ? TensorType::kHalf : TensorType::kFloat;
    const bool wants = tape_.wants(q) || tape_.wants(k) || tape_.wants(v) || tape_.wants(mask);
    const T y = as_written(sizes, type, wants);
    const std::size_t number = tape_.call(
        "scaled_dot_product_attention", Json::array({arg(q), arg(k), arg(v), arg(mask), drop, causal}), {y});
    if (style_.half) tape_.mark_autocast();
    tape_.on_backward(y, [=, this](T g) {
      std::vector<T> gradients;
      for (const T t : {q, k, v}) gradients.push_back(as_written(tape_.sizes(t), tape_.type(t), false));
      if (tape_.wants(mask)) gradients.push_back(tape_.like(mask));
      tape_.gradient_call("scaled_dot_product_attention", Json::array({arg(g)}), gradients, number);
      tape_.give(q, gradients[0]);
      tape_.give(k, gradients[1]);
      tape_.give(v, gradients[2]);
      if (tape_.wants(mask)) tape_.give(mask, gradients[3]);
    });
    return y;
  }

  T attend_spelled_out(T q, T k, T v, double drop, T mask) {
    Sizes order = heads_before(tape_.sizes(k).size());
    std::swap(order[order.size() - 3], order[order.size() - 2]);
    std::swap(order[order.size() - 2], order[order.size() - 1]);
    Sizes scores = tape_.sizes(q);
    scores.back() = tape_.size(k, -2);
    T logits = matmul(scaled(q), tape_.permuted(k, order), scores);
    if (mask != kNone) logits = add(logits, mask);
    T weights = function("_softmax", "_softmax_backward_data", raised_there(logits), true);
    weights = dropout(weights, drop);
    scores.back() = tape_.size(v, -1);
    return matmul(weights, v, scores);
  }

  // Heads side by side again.
  T out_of_heads(T heads, const Sizes& sizes) {
    return tape_.view(tape_.permuted(heads, heads_before(tape_.sizes(heads).size())), sizes);
  }

  T self_attention(T x, std::int64_t heads, bool bias, double drop) {
    const std::int64_t width = tape_.size(x, -1);
    const std::vector<T> qkv = parts_of(linear(x, 3 * width, bias, true), 3);
    const T y =
        attend(in_heads(qkv[0], heads), in_heads(qkv[1], heads), in_heads(qkv[2], heads), drop, kNone, false);
    return linear(out_of_heads(y, Sizes(tape_.sizes(x))), width, bias, true);
  }

  T cross_attention(const Node& node, const std::vector<T>& in) {
    const std::int64_t width = tape_.size(in[0], -1), heads = node.integer("heads");
    std::vector<T> qkv;
    for (std::size_t i = 0; i < 3; ++i)
      qkv.push_back(in_heads(linear(in[std::min(i, in.size() - 1)], width, node.flag("bias"), true), heads));
    const T y = attend(qkv[0], qkv[1], qkv[2], 0, kNone, false);
    return linear(out_of_heads(y, Sizes(tape_.sizes(in[0]))), width, node.flag("bias"), true);
  }

  T attention_core(const Node& node, const std::vector<T>& in) {
    const std::vector<T> qkv = in.size() == 1 ? parts_of(in[0], 3) : in;
    const std::int64_t heads = node.integer("heads"), rows = node.integer("rows");
    const std::int64_t queries = tape_.size(qkv[0], -2), keys = tape_.size(qkv[1], -2);
    const bool causal = node.word("mask") == "causal";
    T mask = kNone;
    if (node.word("mask") != "none") mask = tape_.tensor({1, 1, queries, keys});
    if (rows > 0) {  // a bias that is looked up in a table, for each head
      const T table = tape_.weight({rows, heads});
      const T places = tape_.tensor({queries * keys}, TensorType::kLong);
      const T looked_up = tape_.tensor({queries * keys, heads}, TensorType::kFloat, true);
      tape_.call("index", Json::array({arg(table), CallTape::arguments({places})}), {looked_up});
      tape_.on_backward(looked_up, [=, this](T g) {
        const T sum = tape_.like(table);
        tape_.call("index_put", Json::array({arg(sum), CallTape::arguments({places}), arg(g)}), {sum});
        tape_.give(table, sum);
      });
      const T turned = tape_.permuted(tape_.view(looked_up, {queries, keys, heads}), {2, 0, 1});
      const T bias = tape_.view(copied(turned), {1, heads, queries, keys});
      mask = mask == kNone ? bias : add(bias, mask);
    }
    const bool by_flag = causal && rows == 0 && style_.calls.fused_attention;
    const T y = attend(in_heads(qkv[0], heads), in_heads(qkv[1], heads), in_heads(qkv[2], heads),
                       node.real("dropout"), by_flag ? kNone : mask, by_flag);
    Sizes sizes = tape_.sizes(qkv[0]);
    sizes.back() = tape_.size(qkv[2], -1);
    return out_of_heads(y, sizes);
  }

  T encoder(const Node& node, T x) {
    const double drop = node.real("dropout");
    const auto attention = [&](T from) {
      return dropout(self_attention(from, node.integer("heads"), true, drop), drop);
    };
    const auto feed_forward = [&](T from) {
      T inner = linear(from, node.integer("feedforward"), true, true);
      inner = node.word("activation") == "gelu" ? function("gelu", "gelu_backward", inner)
                                                : function("relu", "threshold_backward", inner, true);
      return dropout(linear(dropout(inner, drop), tape_.size(x, -1), true, true), drop);
    };
    if (node.flag("norm_first")) {
      const T middle = add(x, attention(layer_norm(x, 1, true)));
      return add(middle, feed_forward(layer_norm(middle, 1, true)));
    }
    const T middle = layer_norm(add(x, attention(x)), 1, true);
    return layer_norm(add(middle, feed_forward(middle)), 1, true);
  }

  // Forward reads x, weight and bias; backward reads the gradient, x, the statistics and the weight.
  T normed(const char* op, const char* gradient_op, T x, const Sizes& affine, const std::vector<T>& buffers,
           const Sizes& statistics) {
    const bool has = !affine.empty();
    const T weight = has ? tape_.weight(affine) : kNone, bias = has ? tape_.weight(affine) : kNone;
    const T y = tape_.tensor(tape_.sizes(x), tape_.type(x), tape_.wants(x) || has);
    // On accelerators they are kept as precise as they are computed.
    const TensorType kept = style_.calls.accelerator ? TensorType::kFloat : tape_.type(x);
    const T mean = tape_.tensor(statistics, kept), spread_of = tape_.tensor(statistics, kept);
    std::vector<T> reads = {x, weight, bias};
    reads.insert(reads.end(), buffers.begin(), buffers.end());
    tape_.call(op, CallTape::arguments(reads), {y, mean, spread_of});
    tape_.on_backward(y, [=, this](T g) {
      const T gx = tape_.wants(x) ? tape_.tensor(tape_.sizes(x), tape_.type(x)) : kNone;
      const T gw = has ? tape_.like(weight) : kNone, gb = has ? tape_.like(bias) : kNone;
      std::vector<T> back = {g, x, weight, mean, spread_of};
      if (std::string(op) == "native_layer_norm") back.push_back(bias);
      back.insert(back.end(), buffers.begin(), buffers.end());
      tape_.call(gradient_op, CallTape::arguments(back), {gx, gw, gb});
      if (gx != kNone) tape_.give(x, gx);
      if (!has) return;
      tape_.give(weight, gw);
      tape_.give(bias, gb);
    });
    return y;
  }

  T batch_norm(T x, bool affine) {
    const std::int64_t channels = tape_.size(x, 1);
    const T batches = tape_.tensor({}, TensorType::kLong);
    tape_.call("add_", Json::array({arg(batches), 1}), {batches});
    const std::vector<T> running = {tape_.tensor({channels}), tape_.tensor({channels})};
    return normed("native_batch_norm", "native_batch_norm_backward", x, affine ? Sizes{channels} : Sizes{},
                  running, {channels});
  }

  T layer_norm(T given, std::int64_t axes, bool affine) {
    const T x = raised_there(given);
    const Sizes& all = tape_.sizes(x);
    const Sizes shape(all.end() - axes, all.end());
    Sizes statistics = all;
    for (std::size_t i = all.size() - static_cast<std::size_t>(axes); i < all.size(); ++i) statistics[i] = 1;
    return normed("native_layer_norm", "native_layer_norm_backward", x, affine ? shape : Sizes{}, {},
                  statistics);
  }

  T group_norm(T given, std::int64_t groups, bool affine) {
    const T x = raised_there(given);
    return normed("native_group_norm", "native_group_norm_backward", x,
                  affine ? Sizes{tape_.size(x, 1)} : Sizes{}, {}, {tape_.size(x, 0), groups});
  }

  // One number for each; `by_result`: its gradient follows from what came out.
  T function(const char* op, const char* gradient_op, T x, bool by_result = false) {
    const T y = tape_.like(x);
    tape_.call(op, Json::array({arg(x)}), {y});
    tape_.on_backward(y, [=, this](T g) {
      const T made = tape_.like(x);
      tape_.call(gradient_op, Json::array({arg(g), arg(by_result ? y : x)}), {made});
      tape_.give(x, made);
    });
    return y;
  }

  T scaled(T x) {
    const T y = tape_.like(x);
    tape_.call("mul", Json::array({arg(x), 1.0}), {y});
    tape_.on_backward(y, [=, this](T g) {
      const T made = tape_.like(g);
      tape_.call("mul", Json::array({arg(g), 1.0}), {made});
      tape_.give(x, made);
    });
    return y;
  }

  // The same elements in another order, and back.
  T moved(const char* op, T x) {
    const T y = tape_.tensor(tape_.sizes(x), tape_.type(x), tape_.wants(x));
    tape_.call(op, Json::array({arg(x)}), {y});
    tape_.on_backward(y, [=, this](T g) {
      const T made = tape_.tensor(tape_.sizes(x), tape_.type(x));
      tape_.call(op, Json::array({arg(g)}), {made});
      tape_.give(x, made);
    });
    return y;
  }

  T copied(T x) {
    const T y = tape_.tensor(tape_.sizes(x), tape_.type(x), tape_.wants(x));
    tape_.call("clone", Json::array({arg(x)}), {y});
    tape_.on_backward(y, [=, this](T g) { tape_.give(x, g); });
    return y;
  }

  T pooled(const char* op, const char* gradient_op, T x, const Sizes& out, bool keeps_places) {
    const T y = tape_.tensor(out, tape_.type(x), tape_.wants(x));
    std::vector<T> made = {y};
    if (keeps_places) made.push_back(tape_.tensor(out, TensorType::kLong));
    tape_.call(op, Json::array({arg(x)}), made);
    tape_.on_backward(y, [=, this](T g) {
      std::vector<T> reads = {g, x};
      if (keeps_places) reads.push_back(made[1]);
      const T back = tape_.tensor(tape_.sizes(x), tape_.type(x));
      tape_.call(gradient_op, CallTape::arguments(reads), {back});
      tape_.give(x, back);
    });
    return y;
  }

  T upsampled(const Node& node, T x, const Sizes& out) {
    const bool nearest = node.word("mode") == "nearest";
    const T y = tape_.tensor(out, tape_.type(x), tape_.wants(x));
    tape_.call(nearest ? "upsample_nearest2d" : "upsample_bilinear2d", Json::array({arg(x)}), {y});
    tape_.on_backward(y, [=, this](T g) {
      const T made = tape_.tensor(tape_.sizes(x), tape_.type(x));
      tape_.call(nearest ? "upsample_nearest2d_backward" : "upsample_bilinear2d_backward",
                 Json::array({arg(g)}), {made});
      tape_.give(x, made);
    });
    return y;
  }

  T mean(T x, const Sizes& out) {
    const T y = tape_.tensor(out, tape_.type(x), tape_.wants(x));
    tape_.call("mean", Json::array({arg(x)}), {y});
    tape_.on_backward(y, [=, this](T g) {
      const T spread_out = tape_.look(g, tape_.sizes(x), Sizes(tape_.sizes(x).size(), 0));
      const T made = tape_.tensor(tape_.sizes(x), tape_.type(g));
      tape_.call("div", Json::array({arg(spread_out), tape_.elements(x) / tape_.elements(g)}), {made});
      tape_.give(x, made);
    });
    return y;
  }

  T dropout(T x, double p) {
    if (!(p > 0)) return x;
    const T y = tape_.like(x);
    if (style_.calls.accelerator) {
      const T kept = tape_.like(x, TensorType::kBool);
      tape_.call("native_dropout", Json::array({arg(x), p, true}), {y, kept});
      tape_.on_backward(y, [=, this](T g) {
        const T made = tape_.like(x);
        tape_.call("native_dropout_backward", Json::array({arg(g), arg(kept)}), {made});
        tape_.give(x, made);
      });
      return y;
    }
    const T kept = tape_.like(x);
    tape_.call("bernoulli_", Json::array({arg(kept)}), {kept});
    tape_.call("div_", Json::array({arg(kept), 1 - p}), {kept});
    tape_.call("mul", Json::array({arg(x), arg(kept)}), {y});
    tape_.on_backward(y, [=, this](T g) {
      const T made = tape_.like(g);
      tape_.call("mul", Json::array({arg(g), arg(kept)}), {made});
      tape_.give(x, made);
    });
    return y;
  }

  // Whole samples are left out.
  T drop_path(T x) {
    Sizes sizes(tape_.sizes(x).size(), 1);
    sizes[0] = tape_.size(x, 0);
    const T kept = tape_.tensor(sizes, tape_.type(x));
    tape_.call("bernoulli_", Json::array({arg(kept)}), {kept});
    tape_.call("div_", Json::array({arg(kept), 0.9}), {kept});
    return mul(x, kept);
  }

  // As large as both together, as precise as the more precise.
  T both(T a, T b) {
    const auto rank = std::max(tape_.sizes(a).size(), tape_.sizes(b).size());
    Sizes sizes(rank, 1);
    for (const T t : {a, b}) {
      const Sizes& own = tape_.sizes(t);
      for (std::size_t i = 0; i < own.size(); ++i) {
        std::int64_t& size = sizes[rank - own.size() + i];
        size = std::max(size, own[i]);
      }
    }
    const bool half = tape_.type(a) == TensorType::kHalf && tape_.type(b) == TensorType::kHalf;
    const TensorType type = half ? TensorType::kHalf : TensorType::kFloat;
    const bool wants = tape_.wants(a) || tape_.wants(b);
    return tape_.tensor(std::move(sizes), type, wants);
  }

  T add(T a, T b) {
    const T y = both(a, b);
    tape_.call("add", Json::array({arg(a), arg(b)}), {y});
    tape_.on_backward(y, [=, this](T g) {
      tape_.give(a, g);
      tape_.give(b, g);
    });
    return y;
  }

  T mul(T a, T b) {
    const T y = both(a, b);
    tape_.call("mul", Json::array({arg(a), arg(b)}), {y});
    tape_.on_backward(y, [=, this](T g) {
      const auto times = [&](T to, T factor) {
        if (!tape_.wants(to)) return;
        const T made = tape_.tensor(tape_.sizes(g), tape_.type(g));
        tape_.call("mul", Json::array({arg(g), arg(factor)}), {made});
        tape_.give(to, made);
      };
      times(b, a);
      times(a, b);
    });
    return y;
  }

  T concat(const std::vector<T>& in, std::int64_t axis, const Sizes& out) {
    const bool wants = std::any_of(in.begin(), in.end(), [&](T t) { return tape_.wants(t); });
    const T y = tape_.tensor(out, tape_.type(in.front()), wants);
    tape_.call("cat", Json::array({CallTape::arguments(in), axis}), {y});
    tape_.on_backward(y, [=, this](T g) {  // each gets its part of it, without a copy
      for (const T t : in) tape_.give(t, tape_.look(g, tape_.sizes(t), Sizes(tape_.strides(g))));
    });
    return y;
  }

  T class_token(const Node& node, T x, const Sizes& out) {
    const std::int64_t count = node.integer("count");
    const T token = tape_.weight({1, count, tape_.size(x, -1)});
    const T spread_out = tape_.look(token, {out[0], count, out[2]}, {0, out[2], 1}, true);
    tape_.on_backward(spread_out, [=, this](T g) { tape_.give(token, g); });
    return concat({tape_.cast(spread_out, tape_.type(x)), x}, 1, out);
  }

  T channel_shuffle(T x, std::int64_t groups) {
    const Sizes whole = tape_.sizes(x);
    Sizes split = whole, order(whole.size() + 1);
    split[1] = groups;
    split.insert(split.begin() + 2, whole[1] / groups);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::swap(order[1], order[2]);
    return tape_.view(tape_.permuted(tape_.view(x, split), order), whole);
  }

  T matmul(T first, T second, const Sizes& out) {
    const T a = lowered(first), b = lowered(second);
    const std::int64_t rows = out[out.size() - 2], columns = out.back(), depth = tape_.size(a, -1);
    const std::int64_t groups = tape_.elements(a) / (rows * depth);
    const bool batched = tape_.sizes(b).size() > 2;
    const char* op = batched ? "bmm" : "mm";
    const T left = tape_.view(a, batched ? Sizes{groups, rows, depth} : Sizes{groups * rows, depth});
    const T right = batched ? tape_.view(b, {groups, depth, columns}) : b;
    const T y = product(op, left, right);
    const bool wants = tape_.wants(a) || tape_.wants(b);
    const T known = tape_.look(y, tape_.sizes(y), tape_.strides(y), wants);  // the same, seen by autograd
    tape_.on_backward(known, [=, this](T g) {
      if (tape_.wants(right)) tape_.give(right, product(op, transposed(left), g));
      if (tape_.wants(left)) tape_.give(left, product(op, g, transposed(right)));
    });
    return tape_.view(known, out);
  }

  T loss(T result) {
    const Sizes sizes = tape_.sizes(result);
    const bool by_classes = (sizes.size() == 2 || sizes.size() == 3) && sizes.back() > 1;
    const T y = tape_.tensor({}, TensorType::kFloat, tape_.wants(result));
    if (!by_classes) {
      const T x = raised(result);
      const T target = tape_.tensor(sizes);
      tape_.call("mse_loss", Json::array({arg(x), arg(target)}), {y});
      tape_.on_backward(y, [=, this](T g) {
        const T made = tape_.like(x);
        tape_.call("mse_loss_backward", Json::array({arg(g), arg(x), arg(target)}), {made});
        tape_.give(x, made);
      });
      return y;
    }
    T x = tape_.view(result, {tape_.elements(result) / sizes.back(), sizes.back()});
    if (!style_.calls.accelerator) x = raised(x);
    x = raised(function("_log_softmax", "_log_softmax_backward_data", x, true));
    const T classes = tape_.tensor({tape_.size(x, 0)}, TensorType::kLong), counted = tape_.tensor({});
    tape_.call("nll_loss_forward", Json::array({arg(x), arg(classes)}), {y, counted});
    tape_.on_backward(y, [=, this](T g) {
      const T made = tape_.like(x);
      tape_.call("nll_loss_backward", Json::array({arg(g), arg(x), arg(classes), arg(counted)}), {made});
      tape_.give(x, made);
    });
    return y;
  }

  const Network& network_;
  std::vector<Tensor> shapes_;
  StepStyle style_;
  CallTape tape_;
  std::vector<T> tables_;  // of embeddings
};

}  // namespace

StepCalls step_of_network(const Network& network, std::int64_t batch, const StepStyle& style) {
  return NetworkCalls(network, batch, style).make();
}

Json calls_of_network(const Network& network, std::int64_t batch, const StepStyle& style) {
  return step_of_network(network, batch, style).body;
}

}  // namespace ampere

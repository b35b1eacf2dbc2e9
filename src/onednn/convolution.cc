#include <cmath>

#include "onednn/kernels.h"
#include "onednn/operations.h"

namespace ampere::onednn {
namespace {

using dnnl::prop_kind;

// The kernels of a convolution and those of a transposed one, which are called alike.
struct Straight {
  using Forward = dnnl::convolution_forward;
  using BackwardData = dnnl::convolution_backward_data;
  using BackwardWeights = dnnl::convolution_backward_weights;
  static constexpr dnnl::algorithm kKind = dnnl::algorithm::convolution_direct;
};
struct Transposed {
  using Forward = dnnl::deconvolution_forward;
  using BackwardData = dnnl::deconvolution_backward_data;
  using BackwardWeights = dnnl::deconvolution_backward_weights;
  static constexpr dnnl::algorithm kKind = dnnl::algorithm::deconvolution_direct;
};

struct Windows {
  Dims stride, dilation, before, after;  // dilation as oneDNN has it: 0 for none
};

// Inputs: x, weights in the layout that the forward kernel likes, and the bias where there is one.
template <class Kernels>
class Convolution : public Operation {
 public:
  using Ahead = typename Kernels::Forward::primitive_desc;

  Convolution(Ahead ahead, Windows windows, const Dims& weights)
      : ahead_(std::move(ahead)), windows_(std::move(windows)), weights_(weights) {}

  void prepare() override {
    in_ = describe_value(*inputs[0]);
    out_ = describe_value(*output);
    std::unordered_map<int, dnnl::memory> arguments = {
        {DNNL_ARG_SRC, memory_at(in_, x(0))},
        {DNNL_ARG_WEIGHTS, memory_at(ahead_.weights_desc(), x(1))},
        {DNNL_ARG_DST, memory_at(out_, y())}};
    if (has_bias()) arguments.emplace(DNNL_ARG_BIAS, memory_at(ahead_.bias_desc(), x(2)));
    forward_.push_back({typename Kernels::Forward(ahead_), std::move(arguments)});
    if (sink(0)) prepare_data();
    if (sink(1)) prepare_weights();
  }
  void forward() override { run(forward_); }
  void backward() override { run(backward_); }

 private:
  bool has_bias() const { return inputs.size() > 2; }
  static void run(const std::vector<Call>& calls) {
    for (const Call& call : calls) call.run();
  }

  // Memory of the engine's own, for weights in another layout than the forward kernel's.
  float* own(const dnnl::memory::desc& description) {
    own_.emplace_back(static_cast<std::int64_t>(description.get_size() / sizeof(float)));
    return own_.back().data();
  }

  void prepare_data() {
    const typename Kernels::BackwardData::primitive_desc back(
        {Kernels::kKind, in_, any_layout(weights_), out_, windows_.stride, windows_.dilation, windows_.before,
         windows_.after},
        processor(), ahead_);
    dnnl::memory weights = memory_at(ahead_.weights_desc(), x(1));
    if (back.weights_desc() != ahead_.weights_desc()) {
      const dnnl::memory other = memory_at(back.weights_desc(), own(back.weights_desc()));
      backward_.push_back(reorder(weights, other));
      weights = other;
    }
    backward_.push_back({typename Kernels::BackwardData(back),
                         {{DNNL_ARG_DIFF_DST, memory_at(out_, gradient())},
                          {DNNL_ARG_WEIGHTS, weights},
                          {DNNL_ARG_DIFF_SRC, memory_at(in_, sink(0))}}});
  }

  void prepare_weights() {
    const auto bias = has_bias() ? ahead_.bias_desc() : dnnl::memory::desc();
    const typename Kernels::BackwardWeights::primitive_desc back(
        {Kernels::kKind, in_, any_layout(weights_), bias, out_, windows_.stride, windows_.dilation,
         windows_.before, windows_.after},
        processor(), ahead_);
    const dnnl::memory wanted = memory_at(ahead_.weights_desc(), sink(1));
    const bool same = back.diff_weights_desc() == ahead_.weights_desc();
    const dnnl::memory made =
        same ? wanted : memory_at(back.diff_weights_desc(), own(back.diff_weights_desc()));
    std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_SRC, memory_at(in_, x(0))},
                                                       {DNNL_ARG_DIFF_DST, memory_at(out_, gradient())},
                                                       {DNNL_ARG_DIFF_WEIGHTS, made}};
    if (has_bias()) arguments.emplace(DNNL_ARG_DIFF_BIAS, memory_at(bias, sink(2)));
    backward_.push_back({typename Kernels::BackwardWeights(back), std::move(arguments)});
    if (!same) backward_.push_back(reorder(made, wanted));
  }

  Ahead ahead_;
  Windows windows_;
  Dims weights_;
  dnnl::memory::desc in_, out_;
  std::vector<Buffer> own_;
  std::vector<Call> forward_, backward_;
};

// Weights drawn in the plain layout and put into the kernel's, whose padding must stay zero.
Value* kernel_weights(Graph& graph, const Dims& dims, const dnnl::memory::desc& layout, float range) {
  Value* made = graph.parameter({static_cast<std::int64_t>(layout.get_size() / sizeof(float))}, 0);
  Buffer plain(product(dims));
  std::uniform_real_distribution<float> draw(-range, range);
  for (std::int64_t i = 0; i < plain.size(); ++i) plain.data()[i] = draw(graph.random());
  reorder(memory_at(describe_rows(dims), plain.data()), memory_at(layout, made->data.data())).run();
  return made;
}

template <class Kernels>
Value* convolve(Graph& graph, Value* in, const Dims& out_dims, const Windows& windows, const Dims& weights,
                bool bias, std::int64_t fan_in) {
  Value* image = in_layout(graph, in, Layout::kChannelsLast);
  Value* out = graph.value(out_dims, Layout::kChannelsLast);
  const Dims bias_dims = {out_dims[1]};
  const typename Kernels::Forward::primitive_desc ahead(
      {prop_kind::forward_training, Kernels::kKind, describe_value(*image), any_layout(weights),
       bias ? describe_rows(bias_dims) : dnnl::memory::desc(), describe_value(*out), windows.stride,
       windows.dilation, windows.before, windows.after},
      processor());
  const float range = 1 / std::sqrt(static_cast<float>(fan_in));
  std::vector<Value*> inputs = {image, kernel_weights(graph, weights, ahead.weights_desc(), range)};
  if (bias) inputs.push_back(graph.parameter(bias_dims, range));
  graph.add<Convolution<Kernels>>(std::move(inputs), out, ahead, windows, weights);
  // Sequences of three dimensions lie in rows between layers, so that a layer costs the same wherever it
  // stands.
  return in->rank() == 3 ? in_layout(graph, out, Layout::kRows) : out;
}

Dims weight_dims(std::int64_t groups, std::int64_t out, std::int64_t in, const Dims& kernel) {
  Dims dims;
  if (groups > 1) dims.push_back(groups);
  dims.push_back(out / groups);
  dims.push_back(in / groups);
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  return dims;
}

}  // namespace

Value* convolution(Graph& graph, const Node& node, Value* in, const Dims& out) {
  const std::size_t spatial = in->dims.size() - 2;
  const Dims kernel = spread(node, "kernel", spatial), padding = spread(node, "padding", spatial);
  Windows windows{spread(node, "stride", spatial), spread(node, "dilation", spatial), padding, padding};
  for (std::int64_t& d : windows.dilation) --d;
  const std::int64_t groups = groups_of(node, in->dims[1]);
  // oneDNN 2.6 crashes on some 1x1 kernels with a stride (AVX2, 3 or 4 channels into 4 at 8x8, channels
  // last). Such a kernel sees only the pixels it steps on, so these are taken out first.
  const bool points = product(kernel) == 1 && product(windows.stride) > 1 && padding == Dims(spatial, 0);
  if (points) {
    for (std::size_t i = 0; i < spatial; ++i) in = sliced(graph, in, i + 2, 0, windows.stride[i], out[i + 2]);
    windows.stride.assign(spatial, 1);
  }
  return convolve<Straight>(graph, in, out, windows, weight_dims(groups, out[1], in->dims[1], kernel),
                            node.flag("bias"), in->dims[1] / groups * product(kernel));
}

Value* transposed_convolution(Graph& graph, const Node& node, Value* in, const Dims& out) {
  const Dims kernel = spread(node, "kernel", 2), padding = spread(node, "padding", 2);
  const Dims extra = spread(node, "output_padding", 2);
  const Dims after = {padding[0] - extra[0], padding[1] - extra[1]};
  const Windows windows{spread(node, "stride", 2), {0, 0}, padding, after};
  const std::int64_t groups = node.integer("groups");
  return convolve<Transposed>(graph, in, out, windows, weight_dims(groups, out[1], in->dims[1], kernel),
                              node.flag("bias"), out[1] / groups * product(kernel));
}

}  // namespace ampere::onednn

#include <algorithm>

#include "base/error.h"
#include "onednn/kernels.h"
#include "onednn/operations.h"

namespace ampere::onednn {
namespace {

using dnnl::normalization_flags;

constexpr float kEpsilon = 1e-5F;
constexpr float kMomentum = 0.1F;  // of the running averages that are used after training

// Inputs: x, and where it is affine the scales and shifts, one after the other.
template <class Forward, class Backward>
class Normalisation : public Operation {
 public:
  explicit Normalisation(dnnl::memory::desc shape) : shape_(shape) {}

  void prepare() override {
    const bool affine = inputs.size() > 1;
    const auto flags = affine ? normalization_flags::use_scale_shift : normalization_flags::none;
    const typename Forward::primitive_desc ahead({dnnl::prop_kind::forward_training, shape_, kEpsilon, flags},
                                                 processor());
    const dnnl::memory in = memory_at(shape_, x());
    mean_ = dnnl::memory(ahead.mean_desc(), processor());
    variance_ = dnnl::memory(ahead.variance_desc(), processor());
    forward_ = {Forward(ahead),
                {{DNNL_ARG_SRC, in},
                 {DNNL_ARG_DST, memory_at(shape_, y())},
                 {DNNL_ARG_MEAN, mean_},
                 {DNNL_ARG_VARIANCE, variance_}}};
    if (affine) forward_.arguments.emplace(DNNL_ARG_SCALE_SHIFT, memory_at(ahead.weights_desc(), x(1)));
    if (!output->wants_gradient) return;
    const auto kind = affine ? dnnl::prop_kind::backward : dnnl::prop_kind::backward_data;
    const typename Backward::primitive_desc back({kind, shape_, shape_, kEpsilon, flags}, processor(), ahead);
    // The kernel writes the gradient of its input whether or not anybody wants it.
    if (!sink(0)) unwanted_ = Buffer(output->elements());
    backward_ = {Backward(back),
                 {{DNNL_ARG_SRC, in},
                  {DNNL_ARG_DIFF_DST, memory_at(shape_, gradient())},
                  {DNNL_ARG_MEAN, mean_},
                  {DNNL_ARG_VARIANCE, variance_},
                  {DNNL_ARG_DIFF_SRC, memory_at(shape_, sink(0) ? sink(0) : unwanted_.data())}}};
    if (!affine) return;
    backward_.arguments.emplace(DNNL_ARG_SCALE_SHIFT, memory_at(ahead.weights_desc(), x(1)));
    backward_.arguments.emplace(DNNL_ARG_DIFF_SCALE_SHIFT, memory_at(back.diff_weights_desc(), sink(1)));
  }
  void forward() override { forward_.run(); }
  void backward() override { backward_.run(); }

 protected:
  dnnl::memory::desc shape_;
  dnnl::memory mean_, variance_;

 private:
  Buffer unwanted_;
  Call forward_, backward_;
};

using LayerNorm = Normalisation<dnnl::layer_normalization_forward, dnnl::layer_normalization_backward>;

class BatchNorm
    : public Normalisation<dnnl::batch_normalization_forward, dnnl::batch_normalization_backward> {
 public:
  BatchNorm(const dnnl::memory::desc& shape, std::int64_t channels)
      : Normalisation(shape), running_mean_(channels), running_variance_(channels) {}

  void forward() override {
    Normalisation::forward();
    follow(mean_, running_mean_);
    follow(variance_, running_variance_);
  }

 private:
  static void follow(const dnnl::memory& batch, const Buffer& running) {
    const auto* now = static_cast<const float*>(batch.get_data_handle());
    float* average = running.data();
    for (std::int64_t i = 0; i < running.size(); ++i) average[i] += kMomentum * (now[i] - average[i]);
  }
  Buffer running_mean_, running_variance_;
};

Value* scales_and_shifts(Graph& graph, std::int64_t count) {
  Value* made = graph.parameter({2, count}, 0);
  std::fill_n(made->data.data(), count, 1.0F);
  return made;
}

}  // namespace

Value* batch_norm(Graph& graph, Value* in, bool affine) {
  const std::int64_t channels = in->dims[1];
  if (in->elements() == channels) {
    throw bad_input(
        "batch_norm: there is one value per channel only, which cannot be normalised; use a larger batch");
  }
  Value* image = in->rank() == 4 ? in_layout(graph, in, Layout::kChannelsLast) : in;
  std::vector<Value*> inputs = {image};
  if (affine) inputs.push_back(scales_and_shifts(graph, channels));
  return graph.add<BatchNorm>(inputs, graph.value(image->dims, image->layout), describe_value(*image),
                              channels);
}

Value* layer_norm(Graph& graph, Value* in, std::int64_t width, bool affine) {
  Value* rows = in_layout(graph, in, Layout::kRows);
  std::vector<Value*> inputs = {rows};
  if (affine) inputs.push_back(scales_and_shifts(graph, width));
  return graph.add<LayerNorm>(inputs, graph.value(in->dims), describe_rows({in->elements() / width, width}));
}

Value* group_norm(Graph& graph, Value* in, std::int64_t groups, bool affine) {
  Value* out = layer_norm(graph, in, in->elements() / (in->dims[0] * groups), false);
  if (affine) {
    Dims each(in->dims.size() - 1, 1);
    each[0] = in->dims[1];
    out = multiplied(graph, out, graph.parameter(each, 0, 1));
    out = sum(graph, out, graph.parameter(each, 0));
  }
  return in_layout(graph, out, in->layout);
}

}  // namespace ampere::onednn

#include <algorithm>
#include <limits>

#include "onednn/kernels.h"
#include "onednn/operations.h"

namespace ampere::onednn {
namespace {

// Loops of our own, channels innermost: oneDNN's kernel took some three times as long an element with 6
// channels as with 16.
class Pool : public Operation {
 public:
  Pool(Dims kernel, Dims stride, Dims padding)
      : kernel_(std::move(kernel)), stride_(std::move(stride)), padding_(std::move(padding)) {}

 protected:
  // Part of the input that a window covers, and how many elements it has with the padding.
  struct Window {
    std::int64_t top, bottom, left, right;
    std::int64_t size;
  };

  // Calls f(first element of the sample, first element of the output's pixel, window).
  template <class F>
  void windows(const F& f) const {
    const Dims &in = inputs[0]->dims, &out = output->dims;
    for (std::int64_t n = 0; n < out[0]; ++n) {
      for (std::int64_t i = 0; i < out[2]; ++i) {
        for (std::int64_t j = 0; j < out[3]; ++j) {
          const std::int64_t top = i * stride_[0] - padding_[0], left = j * stride_[1] - padding_[1];
          const std::int64_t bottom = std::min(top + kernel_[0], in[2] + padding_[0]);
          const std::int64_t right = std::min(left + kernel_[1], in[3] + padding_[1]);
          f(n * in[2] * in[3] * in[1], ((n * out[2] + i) * out[3] + j) * out[1],
            Window{std::max<std::int64_t>(top, 0), std::min(bottom, in[2]), std::max<std::int64_t>(left, 0),
                   std::min(right, in[3]), (bottom - top) * (right - left)});
        }
      }
    }
  }

  // Calls f(place of the pixel in the sample) for each pixel of the window.
  template <class F>
  void pixels(const Window& w, const F& f) const {
    for (std::int64_t a = w.top; a < w.bottom; ++a) {
      for (std::int64_t b = w.left; b < w.right; ++b) f((a * inputs[0]->dims[3] + b) * inputs[0]->dims[1]);
    }
  }

 private:
  Dims kernel_, stride_, padding_;
};

class MaxPool : public Pool {
 public:
  using Pool::Pool;

  void prepare() override { largest_.resize(static_cast<std::size_t>(output->elements())); }

  void forward() override {
    const std::int64_t channels = output->dims[1];
    windows([&](std::int64_t sample, std::int64_t to, const Window& w) {
      const float* in = x() + sample;
      float* out = y() + to;
      std::int32_t* where = largest_.data() + to;
      std::fill_n(out, channels, -std::numeric_limits<float>::infinity());
      std::fill_n(where, channels, 0);
      pixels(w, [&](std::int64_t pixel) {
        const float* at = in + pixel;
        const auto place = static_cast<std::int32_t>(pixel);
        for (std::int64_t c = 0; c < channels; ++c) {
          const bool larger = at[c] > out[c];
          out[c] = larger ? at[c] : out[c];
          where[c] = larger ? place : where[c];
        }
      });
    });
  }

  void backward() override {
    const std::int64_t channels = output->dims[1];
    std::fill_n(sink(0), inputs[0]->elements(), 0.0F);
    windows([&](std::int64_t sample, std::int64_t to, const Window&) {
      float* in = sink(0) + sample;
      const float* g = gradient() + to;
      const std::int32_t* where = largest_.data() + to;
      for (std::int64_t c = 0; c < channels; ++c) in[where[c] + c] += g[c];
    });
  }

 private:
  std::vector<std::int32_t> largest_;  // the pixel of the sample that was the largest of its window
};

class AveragePool : public Pool {
 public:
  using Pool::Pool;

  void forward() override {
    const std::int64_t channels = output->dims[1];
    std::fill_n(y(), output->elements(), 0.0F);
    windows([&](std::int64_t sample, std::int64_t to, const Window& w) {
      const float* in = x() + sample;
      float* out = y() + to;
      const float share = 1.0F / static_cast<float>(w.size);
      pixels(w, [&](std::int64_t pixel) {
        for (std::int64_t c = 0; c < channels; ++c) out[c] += in[pixel + c] * share;
      });
    });
  }

  void backward() override {
    const std::int64_t channels = output->dims[1];
    std::fill_n(sink(0), inputs[0]->elements(), 0.0F);
    windows([&](std::int64_t sample, std::int64_t to, const Window& w) {
      float* in = sink(0) + sample;
      const float* g = gradient() + to;
      const float share = 1.0F / static_cast<float>(w.size);
      pixels(w, [&](std::int64_t pixel) {
        for (std::int64_t c = 0; c < channels; ++c) in[pixel + c] += g[c] * share;
      });
    });
  }
};

// Windows of different sizes, as many as the output has; channels last.
class AdaptivePool : public Operation {
 public:
  void forward() override {
    std::fill_n(y(), output->elements(), 0.0F);
    windows([&](std::int64_t from, std::int64_t to, float share) {
      for (std::int64_t c = 0; c < output->dims[1]; ++c) y()[to + c] += x()[from + c] * share;
    });
  }
  void backward() override {
    std::fill_n(sink(0), inputs[0]->elements(), 0.0F);
    windows([&](std::int64_t from, std::int64_t to, float share) {
      for (std::int64_t c = 0; c < output->dims[1]; ++c) sink(0)[from + c] += gradient()[to + c] * share;
    });
  }

 private:
  struct Span {
    std::int64_t begin, end;
  };
  static Span span(std::int64_t i, std::int64_t in, std::int64_t out) {
    return {i * in / out, ((i + 1) * in + out - 1) / out};
  }

  // Calls f(place of the input, place of the output, share) for every pair.
  template <class F>
  void windows(const F& f) const {
    const Dims &in = inputs[0]->dims, &out = output->dims;
    const std::int64_t channels = in[1];
    for (std::int64_t n = 0; n < out[0]; ++n) {
      for (std::int64_t i = 0; i < out[2]; ++i) {
        for (std::int64_t j = 0; j < out[3]; ++j) {
          const Span h = span(i, in[2], out[2]), w = span(j, in[3], out[3]);
          const float share = 1.0F / static_cast<float>((h.end - h.begin) * (w.end - w.begin));
          const std::int64_t to = ((n * out[2] + i) * out[3] + j) * channels;
          for (std::int64_t a = h.begin; a < h.end; ++a) {
            for (std::int64_t b = w.begin; b < w.end; ++b)
              f(((n * in[2] + a) * in[3] + b) * channels, to, share);
          }
        }
      }
    }
  }
};

class Upsample : public Operation {
 public:
  explicit Upsample(bool nearest)
      : kind_(nearest ? dnnl::algorithm::resampling_nearest : dnnl::algorithm::resampling_linear) {}

  void prepare() override {
    const auto in = describe_value(*inputs[0]), out = describe_value(*output);
    const dnnl::resampling_forward::primitive_desc ahead({dnnl::prop_kind::forward_training, kind_, in, out},
                                                         processor());
    forward_ = {dnnl::resampling_forward(ahead),
                {{DNNL_ARG_SRC, memory_at(in, x())}, {DNNL_ARG_DST, memory_at(out, y())}}};
    if (!sink(0)) return;
    const dnnl::resampling_backward::primitive_desc back({kind_, in, out}, processor(), ahead);
    backward_ = {
        dnnl::resampling_backward(back),
        {{DNNL_ARG_DIFF_DST, memory_at(out, gradient())}, {DNNL_ARG_DIFF_SRC, memory_at(in, sink(0))}}};
  }
  void forward() override { forward_.run(); }
  void backward() override { backward_.run(); }

 private:
  dnnl::algorithm kind_;
  Call forward_, backward_;
};

// Sequences (N, C, L) are pooled as images of height 1.
Value* as_image(Graph& graph, Value* in) {
  Value* image = in->rank() == 3 ? reshaped(graph, in, {in->dims[0], in->dims[1], 1, in->dims[2]}) : in;
  return in_layout(graph, image, Layout::kChannelsLast);
}

Dims image_dims(const Dims& dims) { return dims.size() == 3 ? Dims{dims[0], dims[1], 1, dims[2]} : dims; }

}  // namespace

Value* pool(Graph& graph, const Node& node, Value* in, const Dims& out) {
  const std::size_t spatial = in->dims.size() - 2;
  Dims kernel = spread(node, "kernel", spatial), padding = spread(node, "padding", spatial);
  Dims stride = node.list("stride").empty() ? kernel : spread(node, "stride", spatial);
  if (spatial == 1) {
    kernel.insert(kernel.begin(), 1);
    stride.insert(stride.begin(), 1);
    padding.insert(padding.begin(), 0);
  }
  Value* image = as_image(graph, in);
  const Dims dims = image_dims(out);
  Value* made = graph.value(dims, Layout::kChannelsLast);
  if (node.op == Op::kMaxPool) {
    graph.add<MaxPool>({image}, made, kernel, stride, padding);
  } else {
    graph.add<AveragePool>({image}, made, kernel, stride, padding);
  }
  return spatial == 1 ? reshaped(graph, made, out) : made;
}

Value* adaptive_pool(Graph& graph, Value* in, const Dims& out) {
  Value* made =
      graph.add<AdaptivePool>({as_image(graph, in)}, graph.value(image_dims(out), Layout::kChannelsLast));
  return in->rank() == 3 ? reshaped(graph, made, out) : made;
}

Value* upsampled(Graph& graph, Value* in, const Dims& out, bool nearest) {
  Value* image = in_layout(graph, in, Layout::kChannelsLast);
  return graph.add<Upsample>({image}, graph.value(out, Layout::kChannelsLast), nearest);
}

}  // namespace ampere::onednn

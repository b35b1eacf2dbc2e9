#include <algorithm>

#include "onednn/operations.h"
#include "onednn/walk.h"

namespace ampere::onednn {
namespace {

// The strides of a tensor that is spread over more or larger dimensions.
Dims spread_strides(const Value& value, const Dims& dims) {
  const Dims own = strides_of(value);
  Dims strides(dims.size(), 0);
  const std::size_t skipped = dims.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (value.dims[i] == dims[skipped + i]) strides[skipped + i] = own[i];
  }
  return strides;
}

class Binary : public Operation {
 public:
  Binary(bool multiply, const Value& a, const Value& b, const Value& out)
      : multiply_(multiply),
        alike_(a.dims == b.dims && a.layout == b.layout),
        walk_(out.dims, {strides_of(out), spread_strides(a, out.dims), spread_strides(b, out.dims)}) {}

  void forward() override {
    const float *a = x(0), *b = x(1);
    float* out = y();
    if (alike_) {
      const std::int64_t n = output->elements();
      if (multiply_) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = a[i] * b[i];
      } else {
        for (std::int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
      }
      return;
    }
    walk_.rows([&](const auto& at, std::int64_t count, const auto& step) {
      for (std::int64_t i = 0; i < count; ++i) {
        const float p = a[at[1] + i * step[1]], q = b[at[2] + i * step[2]];
        out[at[0] + i * step[0]] = multiply_ ? p * q : p + q;
      }
    });
  }

  void backward() override {
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      if (sink(k)) backward_into(k);
    }
  }

 private:
  void backward_into(std::size_t k) {
    const float *g = gradient(), *other = x(1 - k);
    float* to = sink(k);
    if (alike_) {
      const std::int64_t n = output->elements();
      if (multiply_) {
        for (std::int64_t i = 0; i < n; ++i) to[i] = g[i] * other[i];
      } else {
        std::copy_n(g, n, to);
      }
      return;
    }
    std::fill_n(to, inputs[k]->elements(), 0.0F);
    walk_.rows([&](const auto& at, std::int64_t count, const auto& step) {
      const std::int64_t mine = at[1 + k], theirs = at[2 - k];
      for (std::int64_t i = 0; i < count; ++i) {
        const float factor = multiply_ ? other[theirs + i * step[2 - k]] : 1.0F;
        to[mine + i * step[1 + k]] += g[at[0] + i * step[0]] * factor;
      }
    });
  }

  bool multiply_, alike_;
  Walk<3> walk_;
};

Value* binary(Graph& graph, Value* a, Value* b, bool multiply) {
  const std::size_t rank = std::max(a->dims.size(), b->dims.size());
  Dims dims(rank, 1);
  for (const Value* v : {a, b}) {
    for (std::size_t i = 0; i < v->dims.size(); ++i) {
      std::int64_t& d = dims[rank - v->dims.size() + i];
      d = std::max(d, v->dims[i]);
    }
  }
  Value* out = graph.value(dims, a->dims.size() == rank ? a->layout : b->layout);
  return graph.add<Binary>({a, b}, out, multiply, *a, *b, *out);
}

class Scale : public Operation {
 public:
  explicit Scale(float factor) : factor_(factor) {}
  void forward() override { apply(x(), y()); }
  void backward() override { apply(gradient(), sink(0)); }

 private:
  void apply(const float* from, float* to) const {
    for (std::int64_t i = 0; i < output->elements(); ++i) to[i] = from[i] * factor_;
  }
  float factor_;
};

class Mean : public Operation {
 public:
  Mean(const Value& in, const Dims& to, std::int64_t count)
      : walk_(in.dims, {strides_of(in), to}), share_(1.0F / static_cast<float>(count)) {}

  void forward() override {
    std::fill_n(y(), output->elements(), 0.0F);
    walk_.rows([&](const auto& at, std::int64_t count, const auto& step) {
      for (std::int64_t i = 0; i < count; ++i) y()[at[1] + i * step[1]] += x()[at[0] + i * step[0]] * share_;
    });
  }
  void backward() override {
    walk_.rows([&](const auto& at, std::int64_t count, const auto& step) {
      for (std::int64_t i = 0; i < count; ++i)
        sink(0)[at[0] + i * step[0]] = gradient()[at[1] + i * step[1]] * share_;
    });
  }

 private:
  Walk<2> walk_;
  float share_;
};

// Drawn anew in every forward pass, by a generator of three operations a number (xorshift).
class Dropout : public Operation {
 public:
  Dropout(double p, std::int64_t together, std::int64_t groups, std::uint64_t seed)
      : p_(p), together_(together), mask_(groups), state_(seed | 1) {}

  void forward() override {
    const auto border = static_cast<std::uint32_t>(p_ * 4294967295.0);
    const float kept = p_ < 1 ? static_cast<float>(1 / (1 - p_)) : 0;
    for (std::int64_t g = 0; g < mask_.size(); ++g) {
      state_ ^= state_ << 13;
      state_ ^= state_ >> 7;
      state_ ^= state_ << 17;
      mask_.data()[g] = static_cast<std::uint32_t>(state_ >> 32) < border ? 0 : kept;
    }
    apply(x(), y());
  }
  void backward() override { apply(gradient(), sink(0)); }

 private:
  void apply(const float* from, float* to) const {
    const float* mask = mask_.data();
    if (together_ == 1) {
      for (std::int64_t i = 0; i < mask_.size(); ++i) to[i] = from[i] * mask[i];
      return;
    }
    for (std::int64_t g = 0; g < mask_.size(); ++g) {
      for (std::int64_t i = g * together_; i < (g + 1) * together_; ++i) to[i] = from[i] * mask[g];
    }
  }

  double p_;
  std::int64_t together_;
  Buffer mask_;
  std::uint64_t state_;
};

}  // namespace

Value* sum(Graph& graph, Value* a, Value* b) { return binary(graph, a, b, false); }

Value* multiplied(Graph& graph, Value* a, Value* b) { return binary(graph, a, b, true); }

Value* scaled(Graph& graph, Value* in, float factor) {
  return graph.add<Scale>({in}, graph.value(in->dims, in->layout), factor);
}

Value* mean_over(Graph& graph, Value* in, const std::vector<bool>& gone, const Dims& dims) {
  Value* out = graph.value(dims);
  Dims kept = in->dims;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) continue;
    count *= kept[i];
    kept[i] = 1;
  }
  Dims to = strides_of(kept, Layout::kRows);
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (gone[i]) to[i] = 0;
  }
  return graph.add<Mean>({in}, out, *in, to, count);
}

Value* dropped(Graph& graph, Value* in, double p, bool whole_samples) {
  const std::int64_t together = whole_samples ? in->elements() / in->dims[0] : 1;
  return graph.add<Dropout>({in}, graph.value(in->dims, in->layout), p, together, in->elements() / together,
                            graph.random()());
}

}  // namespace ampere::onednn

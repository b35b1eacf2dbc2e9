#include <algorithm>
#include <cmath>

#include "onednn/kernels.h"
#include "onednn/operations.h"

namespace ampere::onednn {
namespace {

// y = x w' + b over the last dimension. Inputs: x, w (out x in), and b where there is one.
class Linear : public Operation {
 public:
  Linear(std::int64_t rows, std::int64_t in, std::int64_t out) : rows_(rows), in_(in), out_(out) {}

  void forward() override {
    const bool bias = inputs.size() > 2;
    if (bias) {
      for (std::int64_t r = 0; r < rows_; ++r) std::copy_n(x(2), out_, y() + r * out_);
    }
    Product{false, true, rows_, out_, in_}.run(x(0), x(1), y(), bias ? 1 : 0);
  }

  void backward() override {
    const float* g = gradient();
    if (sink(0)) Product{false, false, rows_, in_, out_}.run(g, x(1), sink(0));
    if (sink(1)) Product{true, false, out_, in_, rows_}.run(g, x(0), sink(1));
    if (inputs.size() > 2 && sink(2)) {
      float* sums = sink(2);
      std::fill_n(sums, out_, 0.0F);
      for (std::int64_t r = 0; r < rows_; ++r) {
        for (std::int64_t i = 0; i < out_; ++i) sums[i] += g[r * out_ + i];
      }
    }
  }

 private:
  std::int64_t rows_, in_, out_;
};

class MatrixProduct : public Operation {
 public:
  MatrixProduct(std::int64_t count, const Product& product) : count_(count), p_(product) {}

  void forward() override {
    each([&](std::int64_t i) {
      p_.run(x(0) + i * p_.m * p_.k, x(1) + i * p_.k * p_.n, y() + i * p_.m * p_.n);
    });
  }

  void backward() override {
    // With c = s a b: da = s g b', db = s a' g; with c = s a b': da = s g b, db = s g' a.
    const Product left{false, !p_.tb, p_.m, p_.k, p_.n, p_.scale};
    const Product right = p_.tb ? Product{true, false, p_.n, p_.k, p_.m, p_.scale}
                                : Product{true, false, p_.k, p_.n, p_.m, p_.scale};
    each([&](std::int64_t i) {
      const float *a = x(0) + i * p_.m * p_.k, *b = x(1) + i * p_.k * p_.n, *g = gradient() + i * p_.m * p_.n;
      if (sink(0)) left.run(g, b, sink(0) + i * p_.m * p_.k);
      if (!sink(1)) return;
      float* to = sink(1) + i * p_.k * p_.n;
      if (p_.tb) {
        right.run(g, a, to);
      } else {
        right.run(a, g, to);
      }
    });
  }

 private:
  // Matrices are shared out among the threads where there are several.
  template <class F>
  void each(const F& f) const {
#pragma omp parallel for if (count_ > 1)
    for (std::int64_t i = 0; i < count_; ++i) f(i);
  }

  std::int64_t count_;
  Product p_;
};

// Inputs: indices, table. The gradient of the whole table is written, as frameworks do unless told otherwise.
class Lookup : public Operation {
 public:
  explicit Lookup(std::int64_t width) : width_(width) {}

  void forward() override {
    for (std::int64_t i = 0; i < inputs[0]->elements(); ++i)
      std::copy_n(x(1) + row(i) * width_, width_, y() + i * width_);
  }
  void backward() override {
    float* table = sink(1);
    std::fill_n(table, inputs[1]->elements(), 0.0F);
    for (std::int64_t i = 0; i < inputs[0]->elements(); ++i) {
      float* to = table + row(i) * width_;
      const float* from = gradient() + i * width_;
      for (std::int64_t k = 0; k < width_; ++k) to[k] += from[k];
    }
  }

 private:
  std::int64_t row(std::int64_t i) const { return static_cast<std::int64_t>(x(0)[i]); }
  std::int64_t width_;
};

}  // namespace

Value* linear(Graph& graph, Value* in, std::int64_t out, bool bias, Value* tied) {
  Value* rows = in_layout(graph, in, Layout::kRows);
  const std::int64_t width = in->dims.back();
  const float range = 1 / std::sqrt(static_cast<float>(width));
  std::vector<Value*> inputs = {rows, tied ? tied : graph.parameter({out, width}, range)};
  if (bias) inputs.push_back(graph.parameter({out}, range));
  Dims dims = in->dims;
  dims.back() = out;
  return graph.add<Linear>(inputs, graph.value(dims), in->elements() / width, width, out);
}

Value* matrix_product(Graph& graph, Value* a, Value* b, bool transposed, float scale) {
  Value *left = in_layout(graph, a, Layout::kRows), *right = in_layout(graph, b, Layout::kRows);
  const std::size_t n = a->dims.size();
  const std::int64_t m = a->dims[n - 2], k = a->dims[n - 1], columns = b->dims[transposed ? n - 2 : n - 1];
  Dims dims = a->dims;
  dims.back() = columns;
  return graph.add<MatrixProduct>({left, right}, graph.value(dims), a->elements() / (m * k),
                                  Product{false, transposed, m, columns, k, scale});
}

Value* looked_up(Graph& graph, Value* indices, Value* table) {
  Dims dims = indices->dims;
  dims.push_back(table->dims.back());
  return graph.add<Lookup>({in_layout(graph, indices, Layout::kRows), table}, graph.value(dims),
                           table->dims.back());
}

}  // namespace ampere::onednn

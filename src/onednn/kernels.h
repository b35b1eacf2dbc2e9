// Calling oneDNN: the processor as its engine, descriptions of values, calls that are made again and again,
// and matrix products.
#pragma once

#include <dnnl.hpp>
#include <unordered_map>

#include "onednn/value.h"

namespace ampere::onednn {

const dnnl::engine& processor();

// How a value lies in memory; of `as` where its dimensions are seen otherwise, such as all in a row.
dnnl::memory::desc describe_value(const Value& value);
dnnl::memory::desc describe_rows(const Dims& as);
// In the layout that the kernel likes best.
dnnl::memory::desc any_layout(const Dims& dims);

dnnl::memory memory_at(const dnnl::memory::desc& description, const float* data);

// A kernel with what it reads and writes.
struct Call {
  dnnl::primitive kernel;
  std::unordered_map<int, dnnl::memory> arguments;

  void run() const;
};
Call reorder(const dnnl::memory& from, const dnnl::memory& to);

// c = scale * a b + beta * c, of row-major matrices: c is m x n and k is what is summed over; `ta` and `tb`
// say that a or b is given transposed.
struct Product {
  bool ta = false, tb = false;
  std::int64_t m = 0, n = 0, k = 0;
  float scale = 1;
  void run(const float* a, const float* b, float* c, float beta = 0) const;
};

}  // namespace ampere::onednn

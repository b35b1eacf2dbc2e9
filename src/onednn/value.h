// Tensors of a network that is trained: numbers, the gradient of the loss by them, and how they lie in
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "network/shape.h"

namespace ampere::onednn {

using Dims = std::vector<std::int64_t>;

// Floats at a multiple of 64 bytes, zero at first.
class Buffer {
 public:
  Buffer() = default;
  // Throws std::bad_alloc.
  explicit Buffer(std::int64_t size);

  float* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* p) const;
  };
  std::unique_ptr<float[], Free> data_;
  std::int64_t size_ = 0;
};

// kRows: the last dimension lies closest together, as in C. kChannelsLast: the second one does, which is how
// the kernels for images like it; of tensors (N, C, ...) with three dimensions or more.
enum class Layout { kRows, kChannelsLast };

// Whole numbers are kept as floats, which hold those of any vocabulary exactly.
struct Value {
  Dims dims;
  Layout layout = Layout::kRows;
  bool whole_numbers = false;
  bool wants_gradient = false;
  Buffer data;
  Buffer gradient;  // empty where nobody wants it

  std::int64_t elements() const { return data.size(); }
  int rank() const { return static_cast<int>(dims.size()); }
};

std::int64_t product(const Dims& dims);
Dims strides_of(const Dims& dims, Layout layout);
inline Dims strides_of(const Value& value) { return strides_of(value.dims, value.layout); }

}  // namespace ampere::onednn

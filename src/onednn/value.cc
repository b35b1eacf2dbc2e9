#include "onednn/value.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace ampere::onednn {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

Buffer::Buffer(std::int64_t size) : size_(size) {
  const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(size, 1)) * sizeof(float);
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, rounded);
  data_.reset(static_cast<float*>(memory));
}

void Buffer::Free::operator()(float* p) const { std::free(p); }

std::int64_t product(const Dims& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

Dims strides_of(const Dims& dims, Layout layout) {
  std::vector<std::size_t> order;  // from the outermost in memory to the innermost
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i != 1 || layout == Layout::kRows) order.push_back(i);
  }
  if (layout == Layout::kChannelsLast && dims.size() > 1) order.push_back(1);
  Dims strides(dims.size(), 1);
  std::int64_t step = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = step;
    step *= dims[order[k]];
  }
  return strides;
}

}  // namespace ampere::onednn

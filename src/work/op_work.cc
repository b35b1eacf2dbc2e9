#include "work/op_work.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ampere {
namespace {

auto all_of(const OpWork& w) {
  return std::tie(w.family, w.name, w.arithmetic, w.flops, w.bytes, w.launches, w.rows, w.columns, w.depth,
                  w.groups, w.kernel_area, w.dilation, w.strided, w.layout, w.element_bytes, w.backward);
}

double log2_of(double value) { return std::log2(std::max(value, 1.0)); }

// How often 2 divides a size, up to `most`: kernels like sizes that fill their blocks.
double alignment(double size, int most) {
  if (!(size >= 1 && size < 1e18)) return 0;
  auto whole = static_cast<std::int64_t>(size);
  int times = 0;
  while (whole > 0 && times < most && whole % 2 == 0) {
    whole /= 2;
    ++times;
  }
  return times;
}

constexpr int kMostOfProducts = 3;
constexpr int kMost = 6;

bool has_columns(OpFamily family) {
  switch (family) {
    case OpFamily::kPointwise:
    case OpFamily::kCopy:
    case OpFamily::kReduction:
    case OpFamily::kGather:
    case OpFamily::kPooling:
    case OpFamily::kUpdate:
    case OpFamily::kOther:
      return false;
    default:
      return true;
  }
}

bool has_depth(OpFamily family) {
  switch (family) {
    case OpFamily::kDepthwise:
    case OpFamily::kDepthwiseGradient:
    case OpFamily::kNorm:
    case OpFamily::kNormGradient:
      return false;
    default:
      return has_columns(family);
  }
}

}  // namespace

bool multiplies(OpFamily family) {
  switch (family) {
    case OpFamily::kProduct:
    case OpFamily::kConvolution:
    case OpFamily::kConvolutionGradient:
    case OpFamily::kDepthwise:
    case OpFamily::kDepthwiseGradient:
    case OpFamily::kAttention:
    case OpFamily::kAttentionGradient:
    case OpFamily::kRecurrent:
    case OpFamily::kRecurrentGradient:
      return true;
    default:
      return false;
  }
}

bool OpWork::operator==(const OpWork& other) const { return all_of(*this) == all_of(other); }
bool OpWork::operator<(const OpWork& other) const { return all_of(*this) < all_of(other); }

Coordinates coordinates_of(const OpWork& w, double roof_s) {
  const bool product = w.family == OpFamily::kProduct;
  const int most = product ? kMostOfProducts : kMost;
  return {std::log2(std::max(roof_s, 1e-9) / 1e-6),
          log2_of(1 + w.flops / std::max(w.bytes, 1.0)),
          log2_of(w.bytes),
          log2_of(w.rows),
          log2_of(w.columns),
          log2_of(w.depth),
          log2_of(w.groups),
          log2_of(w.kernel_area),
          log2_of(w.dilation),
          w.strided ? 1.0 : 0.0,
          product ? alignment(w.rows, most) : 0,
          has_columns(w.family) ? alignment(w.columns, most) : 0,
          has_depth(w.family) ? alignment(w.depth, most) : 0,
          w.layout,
          static_cast<double>(w.element_bytes),
          w.backward ? 1.0 : 0.0};
}

}  // namespace ampere

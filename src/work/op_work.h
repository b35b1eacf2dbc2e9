// What one call asks of a device: how much it computes and moves, and what it looks like. Layers, captured
// parts and whole networks are lists of these, so what is learned of calls holds for networks that nobody has
// measured.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ampere {

// Calls that are computed alike.
enum class OpFamily {
  kProduct,  // of matrices
  kConvolution,
  kConvolutionGradient,
  kDepthwise,  // convolutions of each channel by itself
  kDepthwiseGradient,
  kAttention,
  kAttentionGradient,
  kRecurrent,
  kRecurrentGradient,
  kNorm,
  kNormGradient,
  kPointwise,
  kCopy,
  kReduction,
  kGather,
  kPooling,
  kUpdate,  // of many tensors at once, as optimizers do
  kOther,   // nobody has described it: what it costs is anyone's guess until it is measured
};

// Whether a family's time is mostly that of multiplying.
bool multiplies(OpFamily family);

// What multiplies: each has units, and a peak, of its own.
enum class Arithmetic { kFloat32, kTensorFloat32, kHalf };
inline constexpr std::size_t kArithmetics = 3;

struct OpWork {
  OpFamily family = OpFamily::kPointwise;
  std::string name;  // within the family; calls of one name are more alike than others of the family
  Arithmetic arithmetic = Arithmetic::kFloat32;
  double flops = 0;
  double bytes = 0;     // read and written, each tensor once
  double launches = 1;  // kernels, about
  // As of a matrix product: rows x depth times depth x columns, so many groups of it. Other families say in
  // captured_work.cc what theirs are.
  double rows = 1, columns = 1, depth = 1, groups = 1;
  double kernel_area = 1;
  double dilation = 1;  // places between two taps of a kernel, the most of its dimensions
  bool strided = false;
  double layout = 0;  // of its tensors: 0 as they come, else channels last, transposed or mixed
  int element_bytes = 4;
  bool backward = false;

  bool operator==(const OpWork& other) const;
  bool operator<(const OpWork& other) const;
};

// One kind of call, as often as it is made.
struct CountedWork {
  OpWork work;
  double count = 1;
};

// Where a call lies among all calls, in numbers that are near for calls that cost alike, and far for others.
inline constexpr std::size_t kCoordinates = 16;
using Coordinates = std::array<double, kCoordinates>;
// `roof_s`: what the device needs for it at best.
Coordinates coordinates_of(const OpWork& work, double roof_s);
inline constexpr std::size_t kPhaseCoordinate = kCoordinates - 1;

}  // namespace ampere

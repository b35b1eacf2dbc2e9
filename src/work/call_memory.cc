#include "work/call_memory.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ampere {
namespace {

constexpr double kMiB = 1 << 20;

double rounded(double bytes, const AllocatorStyle& style) {
  return std::ceil(bytes / style.rounding) * style.rounding;
}

double bytes_at(const AtenCall& call, std::size_t place) {
  const CallTensor* t = call.argument(place);
  return t ? t->bytes() : 0;
}

// Of a recurrent layer, in sizes of what it puts out.
struct RecurrentMemory {
  double kept, within, for_gradient;  // of all layers; of one; of all
  double fixed = 0;                   // bytes, for the gradient
};

// Each step's gates are kept, and of an LSTM the cell and its tanh, of a GRU products more. On a processor as
// LibTorch 1.13 and PyTorch 2.15 (whose LSTM is oneDNN's) were seen to allocate, on an accelerator as cuDNN
// was with five networks on an H200 (results/boards/README.md).
RecurrentMemory recurrent_memory(bool lstm, const AllocatorStyle& style) {
  if (style.accelerator)
    return lstm ? RecurrentMemory{6, 0, 11, 34 * kMiB} : RecurrentMemory{7.5, 0, 3, 34 * kMiB};
  if (!lstm) return {9, 3, 0};
  return style.onednn_lstm ? RecurrentMemory{15.5, 8.5, 0} : RecurrentMemory{7, 4, 0};
}

CallMemory recurrent(const AtenCall& call, bool lstm, const AllocatorStyle& style) {
  CallMemory memory;
  const AtenCall& forward = call.gradient_of ? *call.gradient_of : call;
  if (forward.makes.empty() || (!call.forward && !call.gradient_of)) return memory;
  const CallTensor& y = *forward.makes.front();
  const std::size_t first_weight = lstm ? 3 : 2;
  const CallTensor* hidden = forward.argument(first_weight + 1);
  if (!hidden || y.sizes.size() != 3) return memory;
  const RecurrentMemory told = recurrent_memory(lstm, style);
  const double one = y.size(0) * y.size(1) * hidden->size(1) * y.element_bytes;
  const double all = one * (forward.argument(1) ? forward.argument(1)->size(0) : 1);
  if (call.gradient_of) {
    memory.within = told.for_gradient * all + told.fixed;
  } else {
    memory.kept = told.kept * all;
    memory.within = told.within * one;
  }
  return memory;
}

// Scores are kept where no kernel does without them: with dropout on a processor, and on an accelerator in
// float32 where several heads of queries share one of keys.
CallMemory attention(const AtenCall& call, const AllocatorStyle& style) {
  CallMemory memory;
  const CallTensor *q = call.argument(0), *k = call.argument(1);
  if (!q || !k || !call.forward) return memory;
  const double rows = q->elements() / std::max(1.0, q->size(-1));
  memory.kept = rows * 4;  // the logarithm of the sum of each row
  const bool shared = q->sizes.size() == 4 && q->size(-3) != k->size(-3);
  const bool in_float = q->element_bytes == 4 && !call.autocast;
  if (!style.accelerator && call.number(4) > 0) memory.kept = 3 * rows * k->size(-2) * q->element_bytes;
  if (style.accelerator && shared && in_float) memory.kept = rows * k->size(-2) * 4;
  return memory;
}

// A tensor as oneDNN's kernels want it: its channels in blocks, the last one filled up.
double in_blocks(const CallTensor& t, double block) {
  const double channels = t.size(1);
  return channels > 0 ? t.bytes() * std::ceil(channels / block) * block / channels : 0;
}

// On processors oneDNN trains on copies in blocks of channels, and what it makes is copied back: 6 channels
// take as much as 16 there. Inputs of fewer channels than a block are read as they lie. Backward it computes
// the input's gradient first, and the copy of y's is made again for the weights'.
double blocked_within(const AtenCall& call, const CallTensor& x, const CallTensor& y, double block) {
  const bool gradient = call.op == "convolution_backward";
  const bool transposed = call.flag(gradient ? 7 : 6);
  if (transposed || x.channels_last()) return 0;
  const bool wide = x.size(1) >= block;
  const double copy_of_x = wide ? in_blocks(x, block) : 0, copy_of_y = in_blocks(y, block);
  const double weights = wide ? bytes_at(call, gradient ? 2 : 1) : 0;
  if (!gradient) return std::max(copy_of_x + weights + copy_of_y - y.bytes(), copy_of_y);
  const double for_weights = copy_of_y + copy_of_x + weights;
  const std::vector<double> wanted = call.numbers(10);
  if (wanted.empty() || wanted.front() == 0) return for_weights;
  return std::max({copy_of_y + weights + in_blocks(x, block) - x.bytes(), in_blocks(x, block), for_weights});
}

// cuDNN's kernels want channels last: what lies otherwise is copied there and back.
double convolution_within(const AtenCall& call, const AllocatorStyle& style) {
  const bool gradient = call.op == "convolution_backward";
  const CallTensor* x = call.argument(gradient ? 1 : 0);
  const CallTensor* y = gradient ? call.argument(0) : call.makes.empty() ? nullptr : call.makes.front();
  if (!x || !y) return 0;
  if (style.accelerator) return x->channels_last() ? 0 : x->bytes() + y->bytes();
  return style.channel_block > 0 ? blocked_within(call, *x, *y, style.channel_block) : 0;
}

}  // namespace

AllocatorStyle allocator_style_of(const Json& fingerprint) {
  const auto word = [&](const char* key) {
    const auto found = fingerprint.is_object() ? fingerprint.find(key) : fingerprint.end();
    return found != fingerprint.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  AllocatorStyle style;
  const bool own = word("framework").rfind("oneDNN", 0) == 0;  // our worker: channels last
  style.fused_attention = word("framework").rfind("libtorch 1.", 0) != 0;
  style.onednn_lstm = style.fused_attention && !own;
  if (own) style.channel_block = 0;
  if (word("type") != "cuda") return style;
  style.accelerator = true;
  style.rounding = 512;
  // PyTorch gives cuBLAS as much for each thread that calls it, which are two: forward and backward.
  const std::string name = word("name");
  bool large = false;
  for (const char* card : {"H100", "H200", "GH200", "H800", "H20", "B100", "B200", "GB200"})
    large = large || name.find(card) != std::string::npos;
  style.libraries = 2 * (large ? 32 : 8.125) * kMiB;
  return style;
}

CallMemory memory_of_call(const AtenCall& call, const AllocatorStyle& style) {
  CallMemory memory;
  if (call.op == "lstm" || call.op == "gru")
    memory = recurrent(call, call.op == "lstm", style);
  else if (call.op == "scaled_dot_product_attention")
    memory = attention(call, style);
  else if (call.op == "convolution" || call.op == "convolution_backward")
    memory.within = convolution_within(call, style);
  return {rounded(memory.within, style), rounded(memory.kept, style)};
}

bool only_looks(const std::string& op) {
  static const std::set<std::string> names = {
      "t",       "transpose",  "view",    "_unsafe_view",     "permute",  "expand",         "detach",
      "alias",   "slice",      "select",  "unsqueeze",        "squeeze",  "split",          "chunk",
      "unbind",  "as_strided", "unfold",  "split_with_sizes", "narrow",   "_reshape_alias", "diagonal",
      "view_as", "expand_as",  "movedim", "lift_fresh",       "squeeze_", "unsqueeze_",     "reshape"};
  return names.count(op) > 0 || (op.size() > 1 && op.back() == '_');
}

}  // namespace ampere

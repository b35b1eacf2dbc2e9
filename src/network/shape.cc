#include "network/shape.h"

#include <algorithm>

#include "base/error.h"
#include "network/shape_detail.h"

namespace ampere {
namespace {

using shape_detail::Dims;
using shape_detail::mismatch;
using shape_detail::want_float;

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

std::size_t axis_of(const Node& node, std::int64_t axis, const Tensor& in) {
  const std::int64_t rank = in.rank();
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 1 || at >= rank) {
    mismatch(node,
             "an axis between 1 and " + std::to_string(rank - 1) + " (the batch is axis 0) instead of " +
                 std::to_string(axis),
             in);
  }
  return static_cast<std::size_t>(at);
}

// Kernel windows along the dims after batch and channels, for convolutions and pools.
Dims windows(const Node& node, const Tensor& in, bool dilated, bool ceil_mode) {
  const std::size_t spatial = in.dims.size() - 2;
  const Dims kernel = spread(node, "kernel", spatial);
  const Dims stride = node.list("stride").empty() ? kernel : spread(node, "stride", spatial);
  const Dims padding = spread(node, "padding", spatial);
  const Dims dilation = dilated ? spread(node, "dilation", spatial) : Dims(spatial, 1);
  Dims out = {in.dims[0], in.dims[1]};
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
    const std::int64_t room = in.dims[i + 2] + 2 * padding[i] - reach;
    if (room < 0) {
      mismatch(node,
               "an input at least as large as the window of " + std::to_string(reach) + " (padding " +
                   std::to_string(padding[i]) + ")",
               in);
    }
    std::int64_t count = room / stride[i] + 1;
    // PyTorch's rule: with ceil_mode the last window must start inside the input or its left padding.
    if (ceil_mode && room % stride[i] != 0 && count * stride[i] < in.dims[i + 2] + padding[i]) ++count;
    out.push_back(count);
  }
  return out;
}

Tensor conv(const Node& node, const Tensor& in) {
  const int rank = node.op == Op::kConv2d ? 4 : 3;
  want_float(node, in);
  if (in.rank() != rank) {
    mismatch(node,
             rank == 4 ? "an input of 4 dimensions (batch, channels, height, width)"
                       : "an input of 3 dimensions (batch, channels, length)",
             in);
  }
  const std::int64_t groups = groups_of(node, in.dims[1]);
  const std::int64_t out = node.integer("out_channels");
  if (in.dims[1] % groups != 0 || out % groups != 0) {
    mismatch(node,
             "input and output channels (" + std::to_string(in.dims[1]) + ", " + std::to_string(out) +
                 ") that are multiples of groups = " + std::to_string(groups),
             in);
  }
  Tensor result{windows(node, in, true, false)};
  result.dims[1] = out;
  return result;
}

Tensor pool(const Node& node, const Tensor& in) {
  want_float(node, in);
  if (in.rank() != 3 && in.rank() != 4) mismatch(node, "an input of 3 or 4 dimensions", in);
  const Dims kernel = spread(node, "kernel", in.dims.size() - 2);
  const Dims padding = spread(node, "padding", in.dims.size() - 2);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (2 * padding[i] > kernel[i]) mismatch(node, "padding of at most half the kernel", in);
  }
  return {windows(node, in, false, node.flag("ceil_mode"))};
}

Tensor adaptive_pool(const Node& node, const Tensor& in) {
  if (in.rank() != 3 && in.rank() != 4) mismatch(node, "an input of 3 or 4 dimensions", in);
  const Dims size = spread(node, "output", in.dims.size() - 2);
  Tensor out{{in.dims[0], in.dims[1]}};
  out.dims.insert(out.dims.end(), size.begin(), size.end());
  return out;
}

Tensor channel_shuffle(const Node& node, const Tensor& in) {
  const std::int64_t groups = node.integer("groups");
  if (in.rank() < 3 || in.dims[1] % groups != 0)
    mismatch(node, "channels that are a multiple of groups = " + std::to_string(groups), in);
  return in;
}

Tensor upsample(const Node& node, const Tensor& in) {
  want_float(node, in);
  if (in.rank() != 4) mismatch(node, "an input of 4 dimensions (batch, channels, height, width)", in);
  const Dims factor = spread(node, "factor", 2);
  return {{in.dims[0], in.dims[1], in.dims[2] * factor[0], in.dims[3] * factor[1]}};
}

Tensor conv_transpose(const Node& node, const Tensor& in) {
  want_float(node, in);
  if (in.rank() != 4) mismatch(node, "an input of 4 dimensions (batch, channels, height, width)", in);
  const std::int64_t groups = node.integer("groups");
  if (in.dims[1] % groups != 0 || node.integer("out_channels") % groups != 0)
    mismatch(node, "input and output channels that are multiples of groups = " + std::to_string(groups), in);
  const Dims kernel = spread(node, "kernel", 2), stride = spread(node, "stride", 2);
  const Dims padding = spread(node, "padding", 2), extra = spread(node, "output_padding", 2);
  Tensor out{{in.dims[0], node.integer("out_channels")}};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t size = (in.dims[i + 2] - 1) * stride[i] - 2 * padding[i] + kernel[i] + extra[i];
    if (size < 1) mismatch(node, "less padding", in);
    if (extra[i] >= stride[i] && extra[i] > 0) mismatch(node, "an output_padding below the stride", in);
    out.dims.push_back(size);
  }
  return out;
}

// Numpy-style broadcasting of all inputs.
Tensor broadcast(const Node& node, const std::vector<const Tensor*>& in) {
  Tensor out = *in[0];
  for (std::size_t k = 1; k < in.size(); ++k) {
    const Tensor& other = *in[k];
    if (other.dtype != out.dtype) mismatch(node, "inputs of one type", other);
    const std::size_t rank = std::max(out.dims.size(), other.dims.size());
    Dims dims(rank, 1);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t a = i < out.dims.size() ? out.dims[out.dims.size() - 1 - i] : 1;
      const std::int64_t b = i < other.dims.size() ? other.dims[other.dims.size() - 1 - i] : 1;
      if (a != b && a != 1 && b != 1) mismatch(node, "inputs whose shapes agree with " + to_text(out), other);
      dims[rank - 1 - i] = std::max(a, b);
    }
    out.dims = std::move(dims);
  }
  return out;
}

Tensor concat(const Node& node, const std::vector<const Tensor*>& in) {
  Tensor out = *in[0];
  const std::size_t axis = axis_of(node, node.integer("axis"), out);
  for (std::size_t k = 1; k < in.size(); ++k) {
    Dims rest = in[k]->dims;
    if (rest.size() == out.dims.size()) rest[axis] = out.dims[axis];
    if (rest != out.dims || in[k]->dtype != out.dtype) {
      mismatch(node, "inputs equal to " + to_text(out) + " except along axis " + std::to_string(axis),
               *in[k]);
    }
    out.dims[axis] += in[k]->dims[axis];
  }
  return out;
}

Tensor matmul(const Node& node, const Tensor& a, const Tensor& b) {
  want_float(node, a);
  want_float(node, b);
  const std::size_t n = a.dims.size();
  if (n < 3 || b.dims.size() != n || !std::equal(a.dims.begin(), a.dims.end() - 2, b.dims.begin()) ||
      a.dims[n - 1] != b.dims[n - 2]) {
    mismatch(node, "a second input that " + to_text(a) + " can be multiplied with", b);
  }
  Tensor out = a;
  out.dims[n - 1] = b.dims[n - 1];
  return out;
}

Tensor reshape(const Node& node, const Tensor& in) {
  Tensor out{{}, in.dtype};
  std::int64_t known = 1;
  std::size_t open = 0;
  bool has_open = false;
  const Dims& shape = node.list("shape");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t d = shape[i];
    if (d == 0) {
      if (i >= in.dims.size()) mismatch(node, "a dimension to keep at place " + std::to_string(i), in);
      d = in.dims[i];
    }
    if (d == -1) {
      if (has_open) mismatch(node, "at most one -1 in \"shape\"", in);
      has_open = true;
      open = i;
    } else if (__builtin_mul_overflow(known, d, &known) || known > kMaxElements) {
      mismatch(node, "a shape of fewer than 2^40 elements", in);
    }
    out.dims.push_back(d);
  }
  if (has_open) {
    if (in.elements() % known != 0) mismatch(node, "elements that divide by " + std::to_string(known), in);
    out.dims[open] = in.elements() / known;
  }
  if (out.elements() != in.elements()) mismatch(node, "as many elements as in " + to_text(out), in);
  return out;
}

Tensor permute(const Node& node, const Tensor& in) {
  const Dims& order = node.list("order");
  Dims sorted = order;
  std::sort(sorted.begin(), sorted.end());
  Dims natural(in.dims.size());
  for (std::size_t i = 0; i < natural.size(); ++i) natural[i] = static_cast<std::int64_t>(i);
  if (sorted != natural) mismatch(node, "\"order\" to name each axis once", in);
  Tensor out{{}, in.dtype};
  for (std::int64_t axis : order) out.dims.push_back(in.dims[static_cast<std::size_t>(axis)]);
  return out;
}

Tensor slice(const Node& node, const Tensor& in) {
  const std::size_t axis = axis_of(node, node.integer("axis"), in);
  const std::int64_t size = in.dims[axis];
  auto clamp = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t start = clamp(node.integer("start"));
  const std::int64_t end = clamp(node.integer("end"));
  if (end <= start) mismatch(node, "a slice that is not empty", in);
  Tensor out = in;
  out.dims[axis] = (end - start + node.integer("step") - 1) / node.integer("step");
  return out;
}

Tensor roll(const Node& node, const Tensor& in) {
  if (node.list("shifts").size() != node.list("axes").size() || node.list("axes").empty())
    mismatch(node, "as many \"shifts\" as \"axes\"", in);
  for (std::int64_t axis : node.list("axes")) axis_of(node, axis, in);
  return in;
}

Tensor mean(const Node& node, const Tensor& in) {
  want_float(node, in);
  std::vector<bool> gone(in.dims.size(), false);
  for (std::int64_t axis : node.list("axes")) gone[axis_of(node, axis, in)] = true;
  Tensor out;
  for (std::size_t i = 0; i < in.dims.size(); ++i) {
    if (!gone[i]) out.dims.push_back(in.dims[i]);
    if (gone[i] && node.flag("keepdim")) out.dims.push_back(1);
  }
  return out;
}

Tensor input(const Node& node, std::int64_t batch) {
  Tensor out{{batch}, node.word("dtype") == "int" ? DType::kInt : DType::kFloat};
  const Dims& shape = node.list("shape");
  out.dims.insert(out.dims.end(), shape.begin(), shape.end());
  return out;
}

Tensor linear(const Node& node, const Tensor& in) {
  want_float(node, in);
  if (in.rank() < 2) mismatch(node, "an input of at least 2 dimensions", in);
  Tensor out = in;
  out.dims.back() = node.integer("out_features");
  return out;
}

Tensor same(const Node& node, const Tensor& in) {
  want_float(node, in);
  if (node.op == Op::kBatchNorm && (in.rank() < 2 || in.rank() > 4)) mismatch(node, "2 to 4 dimensions", in);
  if (node.op == Op::kLayerNorm && node.integer("axes") >= in.rank()) mismatch(node, "more dimensions", in);
  if (node.op == Op::kGroupNorm && (in.rank() < 3 || in.dims[1] % node.integer("groups") != 0)) {
    mismatch(node, "channels that are a multiple of groups = " + std::to_string(node.integer("groups")), in);
  }
  if (node.op == Op::kSoftmax || node.op == Op::kLogSoftmax) axis_of(node, node.integer("axis"), in);
  if (node.op == Op::kEncoderLayer) {
    if (in.rank() != 3) mismatch(node, "an input of 3 dimensions (batch, length, features)", in);
    if (in.dims[2] % node.integer("heads") != 0) {
      mismatch(node, "features that are a multiple of heads = " + std::to_string(node.integer("heads")), in);
    }
  }
  return in;
}

Tensor flatten(const Node& node, const Tensor& in) {
  const std::int64_t start = node.integer("start");
  if (start >= in.rank()) return in;
  Tensor out{{in.dims.begin(), in.dims.begin() + start}, in.dtype};
  std::int64_t rest = 1;
  for (std::size_t i = static_cast<std::size_t>(start); i < in.dims.size(); ++i) rest *= in.dims[i];
  out.dims.push_back(rest);
  return out;
}

// What the calls read and put out is their own business; here only the batch they were made with counts.
Tensor calls(const Node& node, std::int64_t batch) {
  const std::int64_t captured = node.integer("batch");
  if (captured > 0 && captured != batch) {
    throw bad_input(describe(node) + ": was captured with batch " + std::to_string(captured) +
                    " and holds for no other, such as " + std::to_string(batch));
  }
  return {{batch, 1}, DType::kFloat};
}

Tensor infer(const Node& node, const std::vector<const Tensor*>& in, std::int64_t batch) {
  switch (node.op) {
    case Op::kInput:
      return input(node, batch);
    case Op::kConv1d:
    case Op::kConv2d:
      return conv(node, *in[0]);
    case Op::kLinear:
      return linear(node, *in[0]);
    case Op::kEmbedding:
      return shape_detail::embedding(node, *in[0]);
    case Op::kLstm:
    case Op::kGru:
      return shape_detail::recurrent(node, *in[0]);
    case Op::kAttention:
      return shape_detail::attention(node, in);
    case Op::kMaxPool:
    case Op::kAvgPool:
      return pool(node, *in[0]);
    case Op::kAdaptiveAvgPool:
      return adaptive_pool(node, *in[0]);
    case Op::kAdd:
    case Op::kMul:
      return broadcast(node, in);
    case Op::kConcat:
      return concat(node, in);
    case Op::kMatmul:
      return matmul(node, *in[0], *in[1]);
    case Op::kFlatten:
      return flatten(node, *in[0]);
    case Op::kReshape:
      return reshape(node, *in[0]);
    case Op::kPermute:
      return permute(node, *in[0]);
    case Op::kSlice:
      return slice(node, *in[0]);
    case Op::kRoll:
      return roll(node, *in[0]);
    case Op::kMean:
      return mean(node, *in[0]);
    case Op::kAttentionCore:
      return shape_detail::attention_core(node, in);
    case Op::kLearnedAdd:
    case Op::kLearnedMul:
      return shape_detail::learned(node, *in[0]);
    case Op::kClassToken:
      return shape_detail::class_token(node, *in[0]);
    case Op::kChannelShuffle:
      return channel_shuffle(node, *in[0]);
    case Op::kUpsample:
      return upsample(node, *in[0]);
    case Op::kConvTranspose2d:
      return conv_transpose(node, *in[0]);
    case Op::kCalls:
      return calls(node, batch);
    default:
      return same(node, *in[0]);
  }
}

}  // namespace

std::int64_t Tensor::elements() const {
  std::int64_t n = 1;
  for (std::int64_t d : dims) {
    if (__builtin_mul_overflow(n, d, &n)) return INT64_MAX;
  }
  return n;
}

std::string to_text(const Tensor& tensor) {
  std::string text;
  for (std::int64_t d : tensor.dims) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text + (tensor.dtype == DType::kInt ? " (int)" : "");
}

std::vector<std::int64_t> spread(const Node& node, const char* attr, std::size_t count) {
  const Dims& values = node.list(attr);
  if (values.size() == count) return values;
  if (values.size() == 1) return Dims(count, values[0]);
  throw bad_input(describe(node) + ": \"" + attr + "\" must have 1 or " + std::to_string(count) +
                  " values, found " + std::to_string(values.size()));
}

std::int64_t groups_of(const Node& conv, std::int64_t in_channels) {
  const std::int64_t groups = conv.integer("groups");
  return groups == 0 ? in_channels : groups;
}

Tensor infer_node(const Node& node, const std::vector<const Tensor*>& inputs, std::int64_t batch) {
  Tensor out = infer(node, inputs, batch);
  if (out.elements() > kMaxElements)
    throw bad_input(describe(node) + ": its output " + to_text(out) + " has more than 2^40 elements");
  return out;
}

std::vector<Tensor> infer_shapes(const Network& network, std::int64_t batch) {
  if (network.nodes().empty()) throw bad_input("network " + network.name() + " is empty");
  if (batch < 1 || batch > kMaxWidth) {
    throw bad_input("the batch size must be between 1 and " + std::to_string(kMaxWidth) + ", found " +
                    std::to_string(batch));
  }
  std::vector<Tensor> shapes;
  shapes.reserve(network.nodes().size());
  for (const Node& node : network.nodes()) {
    std::vector<const Tensor*> in;
    for (int i : node.inputs) in.push_back(&shapes[static_cast<std::size_t>(i)]);
    shapes.push_back(infer_node(node, in, batch));
  }
  return shapes;
}

}  // namespace ampere

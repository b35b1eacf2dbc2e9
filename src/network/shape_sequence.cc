// Shapes of ops over sequences and of trained tensors that are no layer's weights.
#include <algorithm>

#include "base/error.h"
#include "network/shape_detail.h"

namespace ampere {
namespace shape_detail {

void mismatch(const Node& node, const std::string& expected, const Tensor& found) {
  throw bad_input(describe(node) + ": expected " + expected + ", found " + to_text(found));
}

void want_float(const Node& node, const Tensor& in) {
  if (in.dtype != DType::kFloat) mismatch(node, "a float tensor (put an embedding before it)", in);
}

Tensor embedding(const Node& node, const Tensor& in) {
  if (in.dtype != DType::kInt || in.rank() != 2)
    mismatch(node, "an int input of 2 dimensions (batch, length)", in);
  return {{in.dims[0], in.dims[1], node.integer("dim")}};
}

Tensor recurrent(const Node& node, const Tensor& in) {
  want_float(node, in);
  if (in.rank() != 3) mismatch(node, "an input of 3 dimensions (batch, length, features)", in);
  const std::int64_t directions = node.flag("bidirectional") ? 2 : 1;
  return {{in.dims[0], in.dims[1], directions * node.integer("hidden_size")}};
}

Tensor attention(const Node& node, const std::vector<const Tensor*>& in) {
  if (in.size() == 2)
    throw bad_input(describe(node) + ": needs 1 input (self-attention) or 3 (query, key, value)");
  for (const Tensor* t : in) {
    want_float(node, *t);
    if (t->rank() != 3) mismatch(node, "inputs of 3 dimensions (batch, length, features)", *t);
    if (t->dims[2] != in[0]->dims[2]) mismatch(node, "key and value as wide as the query", *t);
  }
  const std::int64_t heads = node.integer("heads");
  if (in[0]->dims[2] % heads != 0) {
    mismatch(node, "features that are a multiple of heads = " + std::to_string(heads), *in[0]);
  }
  if (in.size() == 3 && in[1]->dims != in[2]->dims) mismatch(node, "key and value of one shape", *in[2]);
  return *in[0];
}

// Sequences may lie in windows of the sample, each of which attends to itself: (batch, windows, length,
// features).
Tensor attention_core(const Node& node, const std::vector<const Tensor*>& in) {
  if (in.size() == 2)
    throw bad_input(describe(node) + ": needs 1 input (query, key and value side by side) or 3");
  for (const Tensor* t : in) {
    want_float(node, *t);
    if ((t->rank() != 3 && t->rank() != 4) || t->rank() != in[0]->rank())
      mismatch(node,
               "inputs of 3 dimensions (batch, length, features) or 4 (batch, windows, length, features)",
               *t);
  }
  const std::int64_t parts = in.size() == 1 ? 3 : 1;
  const std::int64_t heads = node.integer("heads");
  for (const Tensor* t : in) {
    if (t->dims.back() % (parts * heads) != 0) {
      mismatch(node, "features that are a multiple of " + std::to_string(parts * heads), *t);
    }
  }
  Tensor out = *in[0];
  out.dims.back() /= parts;
  if (in.size() == 1) return out;
  const std::size_t length = out.dims.size() - 2;
  if (in[1]->dims.back() != in[0]->dims.back()) mismatch(node, "a key as wide as the query", *in[1]);
  if (in[2]->dims[length] != in[1]->dims[length]) mismatch(node, "as many values as keys", *in[2]);
  for (const Tensor* t : in) {
    if (!std::equal(out.dims.begin(), out.dims.end() - 2, t->dims.begin()))
      mismatch(node, "inputs of one batch and as many windows", *t);
  }
  out.dims.back() = in[2]->dims.back();
  return out;
}

Tensor learned(const Node& node, const Tensor& in) {
  want_float(node, in);
  const Dims shape = learned_shape(node, in);
  const std::size_t skipped = in.dims.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && shape[i] != in.dims[skipped + i])
      mismatch(node, "a \"shape\" that fits the last dimensions", in);
  }
  if (node.op == Op::kLearnedAdd && node.integer("rows") > 0 && in.rank() != 3)
    mismatch(node, "an input of 3 dimensions (batch, length, features) where \"rows\" is given", in);
  return in;
}

Tensor class_token(const Node& node, const Tensor& in) {
  want_float(node, in);
  if (in.rank() != 3) mismatch(node, "an input of 3 dimensions (batch, length, features)", in);
  Tensor out = in;
  out.dims[1] += node.integer("count");
  return out;
}

}  // namespace shape_detail

std::vector<std::int64_t> learned_shape(const Node& node, const Tensor& in) {
  shape_detail::Dims shape = node.list("shape");
  if (shape.empty() || shape.size() >= in.dims.size())
    shape_detail::mismatch(node, "a \"shape\" with fewer dimensions than the input, the batch not among them",
                           in);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) shape[i] = in.dims[in.dims.size() - shape.size() + i];
  }
  return shape;
}

}  // namespace ampere

// What the engine can compute and train, as functions that add operations to a graph and return what these
// put out.
#pragma once

#include <string>

#include "network/network.h"
#include "onednn/graph.h"

namespace ampere::onednn {

// movement.cc: the same numbers at other places.
Value* in_layout(Graph& graph, Value* in, Layout layout);
Value* reshaped(Graph& graph, Value* in, const Dims& dims);
Value* permuted(Graph& graph, Value* in, const Dims& order);
Value* sliced(Graph& graph, Value* in, std::size_t axis, std::int64_t start, std::int64_t step,
              std::int64_t count);
Value* rolled(Graph& graph, Value* in, std::size_t axis, std::int64_t shift);
Value* concatenated(Graph& graph, const std::vector<Value*>& in, std::size_t axis);
Value* shuffled(Graph& graph, Value* in, std::int64_t groups);
// Rows that are trained, before those of every sample.
Value* with_tokens(Graph& graph, Value* in, std::int64_t count);
// Columns from `first` on of (..., length, width), as (all before, heads, length, width of a head); and back.
Value* split_heads(Graph& graph, Value* in, std::int64_t first, std::int64_t width, std::int64_t heads);
Value* merged_heads(Graph& graph, Value* in, const Dims& dims);

// arithmetic.cc: element by element, smaller tensors spread as numpy does.
Value* sum(Graph& graph, Value* a, Value* b);
Value* multiplied(Graph& graph, Value* a, Value* b);
Value* scaled(Graph& graph, Value* in, float factor);
Value* mean_over(Graph& graph, Value* in, const std::vector<bool>& gone, const Dims& dims);
// Zeroes numbers, or whole samples, with this probability, and scales the others up.
Value* dropped(Graph& graph, Value* in, double p, bool whole_samples);

// activation.cc. Throws Error{kBadInput} for an op that is none.
Value* activation(Graph& graph, const Node& node, Value* in);
Value* relu(Graph& graph, Value* in);
Value* gelu(Graph& graph, Value* in, bool by_tanh);
Value* softmax(Graph& graph, Value* in, int axis, bool logarithm);

// matrix.cc
Value* linear(Graph& graph, Value* in, std::int64_t out, bool bias, Value* tied = nullptr);
// Of every matrix by itself; `transposed`: a b' instead of a b.
Value* matrix_product(Graph& graph, Value* a, Value* b, bool transposed, float scale);
Value* looked_up(Graph& graph, Value* indices, Value* table);

// convolution.cc, pooling.cc, normalisation.cc, recurrent.cc, attention.cc
Value* convolution(Graph& graph, const Node& node, Value* in, const Dims& out);
Value* transposed_convolution(Graph& graph, const Node& node, Value* in, const Dims& out);
Value* pool(Graph& graph, const Node& node, Value* in, const Dims& out);
Value* adaptive_pool(Graph& graph, Value* in, const Dims& out);
Value* upsampled(Graph& graph, Value* in, const Dims& out, bool nearest);
Value* batch_norm(Graph& graph, Value* in, bool affine);
// Over the last dimensions, `width` numbers together.
Value* layer_norm(Graph& graph, Value* in, std::int64_t width, bool affine);
Value* group_norm(Graph& graph, Value* in, std::int64_t groups, bool affine);
Value* recurrent(Graph& graph, const Node& node, Value* in);
Value* attention(Graph& graph, const std::vector<Value*>& in, std::int64_t heads, bool bias, double dropout);
Value* attention_core(Graph& graph, const Node& node, const std::vector<Value*>& in);
Value* encoder_layer(Graph& graph, const Node& node, Value* in);

}  // namespace ampere::onednn

#include "onednn/operations.h"
#include "onednn/walk.h"

namespace ampere::onednn {
namespace {

// Elements of one input that go to the output. The first tensor of the walk is the output.
struct Piece {
  std::size_t input;
  std::int64_t from, to;  // where the first element stands
  Walk<2> walk;
};

class Movement : public Operation {
 public:
  // `once`: the pieces read every element of every input exactly once.
  Movement(std::vector<Piece> pieces, bool once) : pieces_(std::move(pieces)), once_(once) {}

  void forward() override {
    for (const Piece& piece : pieces_) {
      const float* from = x(piece.input) + piece.from;
      float* to = y() + piece.to;
      piece.walk.rows([&](const auto& at, std::int64_t count, const auto& steps) {
        for (std::int64_t i = 0; i < count; ++i) to[at[0] + i * steps[0]] = from[at[1] + i * steps[1]];
      });
    }
  }

  void backward() override {
    for (std::size_t k = 0; k < inputs.size() && !once_; ++k) {
      if (sink(k)) std::fill_n(sink(k), inputs[k]->elements(), 0.0F);
    }
    for (const Piece& piece : pieces_) {
      if (!sink(piece.input)) continue;
      float* to = sink(piece.input) + piece.from;
      const float* from = gradient() + piece.to;
      piece.walk.rows([&](const auto& at, std::int64_t count, const auto& steps) {
        if (once_) {
          for (std::int64_t i = 0; i < count; ++i) to[at[1] + i * steps[1]] = from[at[0] + i * steps[0]];
        } else {
          for (std::int64_t i = 0; i < count; ++i) to[at[1] + i * steps[1]] += from[at[0] + i * steps[0]];
        }
      });
    }
  }

 private:
  std::vector<Piece> pieces_;
  bool once_;
};

// One piece in which both tensors have these dimensions.
Value* move_all(Graph& graph, Value* in, Value* out, const Dims& dims, const Dims& from, const Dims& to) {
  out->whole_numbers = in->whole_numbers;
  return graph.add<Movement>({in}, out, std::vector<Piece>{{0, 0, 0, Walk<2>(dims, {to, from})}}, true);
}

}  // namespace

Value* in_layout(Graph& graph, Value* in, Layout layout) {
  if (in->layout == layout || in->rank() < 3) return in;
  Value* out = graph.value(in->dims, layout);
  return move_all(graph, in, out, in->dims, strides_of(*in), strides_of(*out));
}

Value* reshaped(Graph& graph, Value* in, const Dims& dims) {
  Value* out = graph.value(dims);
  return move_all(graph, in, out, in->dims, strides_of(*in), strides_of(in->dims, Layout::kRows));
}

Value* permuted(Graph& graph, Value* in, const Dims& order) {
  const Dims strides = strides_of(*in);
  Dims dims, from;
  for (const std::int64_t axis : order) {
    dims.push_back(in->dims[static_cast<std::size_t>(axis)]);
    from.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  Value* out = graph.value(dims);
  return move_all(graph, in, out, dims, from, strides_of(*out));
}

Value* sliced(Graph& graph, Value* in, std::size_t axis, std::int64_t start, std::int64_t step,
              std::int64_t count) {
  Dims dims = in->dims, from = strides_of(*in);
  dims[axis] = count;
  const std::int64_t first = start * from[axis];
  from[axis] *= step;
  Value* out = graph.value(dims, in->layout);
  out->whole_numbers = in->whole_numbers;
  return graph.add<Movement>(
      {in}, out, std::vector<Piece>{{0, first, 0, Walk<2>(dims, {strides_of(*out), from})}}, false);
}

Value* rolled(Graph& graph, Value* in, std::size_t axis, std::int64_t shift) {
  const std::int64_t size = in->dims[axis];
  const std::int64_t by = ((shift % size) + size) % size;
  const Dims strides = strides_of(*in);
  Value* out = graph.value(in->dims, in->layout);
  out->whole_numbers = in->whole_numbers;
  std::vector<Piece> pieces;
  auto take = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    if (count == 0) return;
    Dims dims = in->dims;
    dims[axis] = count;
    pieces.push_back({0, from * strides[axis], to * strides[axis], Walk<2>(dims, {strides, strides})});
  };
  take(0, by, size - by);
  take(size - by, 0, by);
  return graph.add<Movement>({in}, out, std::move(pieces), true);
}

Value* concatenated(Graph& graph, const std::vector<Value*>& in, std::size_t axis) {
  Dims dims = in[0]->dims;
  dims[axis] = 0;
  for (const Value* part : in) dims[axis] += part->dims[axis];
  Value* out = graph.value(dims, in[0]->layout);
  out->whole_numbers = in[0]->whole_numbers;
  const Dims to = strides_of(*out);
  std::vector<Piece> pieces;
  std::int64_t at = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    pieces.push_back({k, 0, at * to[axis], Walk<2>(in[k]->dims, {to, strides_of(*in[k])})});
    at += in[k]->dims[axis];
  }
  return graph.add<Movement>(in, out, std::move(pieces), true);
}

Value* shuffled(Graph& graph, Value* in, std::int64_t groups) {
  // Channel g * each + i becomes channel i * groups + g.
  const std::int64_t each = in->dims[1] / groups;
  const Dims strides = strides_of(*in);
  Dims dims = in->dims, from = strides, to = strides;
  dims[1] = groups;
  from[1] = strides[1] * each;
  to[1] = strides[1];
  dims.insert(dims.begin() + 2, each);
  from.insert(from.begin() + 2, strides[1]);
  to.insert(to.begin() + 2, strides[1] * groups);
  return move_all(graph, in, graph.value(in->dims, in->layout), dims, from, to);
}

Value* with_tokens(Graph& graph, Value* in, std::int64_t count) {
  Dims dims = in->dims;
  const Dims token_dims = {dims[0], count, dims[2]};
  dims[1] += count;
  Value* token = graph.parameter({count, dims[2]}, 0);
  Value* out = graph.value(dims);
  const Dims to = strides_of(*out);
  std::vector<Piece> pieces;
  pieces.push_back({0, 0, 0, Walk<2>(token_dims, {to, Dims{0, dims[2], 1}})});
  pieces.push_back({1, 0, count * to[1], Walk<2>(in->dims, {to, strides_of(*in)})});
  return graph.add<Movement>({token, in}, out, std::move(pieces), false);
}

Value* split_heads(Graph& graph, Value* in, std::int64_t first, std::int64_t width, std::int64_t heads) {
  const std::int64_t columns = in->dims.back(), length = in->dims[in->dims.size() - 2];
  const std::int64_t before = in->elements() / (columns * length), each = width / heads;
  const Dims dims = {before, heads, length, each};
  Value* out = graph.value(dims);
  const Dims from = {length * columns, each, columns, 1};
  return graph.add<Movement>({in}, out,
                             std::vector<Piece>{{0, first, 0, Walk<2>(dims, {strides_of(*out), from})}},
                             width == columns);
}

Value* merged_heads(Graph& graph, Value* in, const Dims& dims) {
  const std::int64_t each = in->dims[3], width = dims.back();
  Value* out = graph.value(dims);
  const Dims to = {in->dims[2] * width, each, width, 1};
  return move_all(graph, in, out, in->dims, strides_of(*in), to);
}

}  // namespace ampere::onednn

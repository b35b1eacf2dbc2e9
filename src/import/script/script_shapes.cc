// Ops that move numbers without computing: views, slices, concatenation.
#include <algorithm>
#include <numeric>
#include <utility>

#include "import/script/script_import.h"

namespace ampere::script {
namespace {

using Kind = TracedValue::Kind;

void hand_on(ScriptImport& s) { s.set(0, TracedValue(s.tensor("self"))); }

void reshape(ScriptImport& s) {
  TracedValue in = s.tensor("self");
  const Dims& to = s.output_shape();
  // Scores that are folded or unfolded along heads are the same scores.
  if (in.kind == Kind::kScores && to.size() >= 2 && in.shape.size() >= 2 &&
      std::equal(to.end() - 2, to.end(), in.shape.end() - 2)) {
    return hand_on(s);
  }
  const bool scaled = std::exchange(in.scaled, false);
  s.set_data(0, s.reshaped(s.data(in), to), scaled);
}

void expand(ScriptImport& s) {
  TracedValue in = s.tensor("self");
  const Dims& to = s.output_shape();
  if (elements(in.shape) == elements(to)) return reshape(s);
  if (in.kind != Kind::kData || to.size() < in.shape.size()) throw Unsupported("expands what is not data");
  in.view.dims.insert(in.view.dims.begin(), to.size() - in.shape.size(), Atoms{});
  in.expanded = true;
  s.set(0, std::move(in));
}

void turn(ScriptImport& s, const std::vector<std::size_t>& order) {
  TracedValue value = s.tensor("self");
  const bool scaled = std::exchange(value.scaled, false);
  const View in = s.data(value);
  View out{in.node, {}};
  for (std::size_t dim : order) out.dims.push_back(in.dims.at(dim));
  s.set_data(0, std::move(out), scaled);
}

void permute(ScriptImport& s) {
  std::vector<std::size_t> order;
  const std::size_t rank = s.tensor("self").shape.size();
  for (std::int64_t dim : s.integers("dims", {})) order.push_back(normal_dim(dim, rank));
  std::vector<std::size_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() != rank || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw Unsupported("does not name each dimension once");
  turn(s, order);
}

void transpose(ScriptImport& s) {
  const std::size_t rank = s.tensor("self").shape.size();
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (rank < 2) return turn(s, order);
  const std::size_t a = normal_dim(s.integer(s.has("dim0") ? "dim0" : "axis0", 0), rank);
  const std::size_t b = normal_dim(s.integer(s.has("dim1") ? "dim1" : "axis1", 1), rank);
  std::swap(order[a], order[b]);
  turn(s, order);
}

struct Range {
  std::int64_t start, size, step = 1;
};

// The node in its own order, but with the atoms of one dimension as an axis by itself: cutting needs no turn.
bool set_apart(ScriptImport& s, const View& view, std::size_t dim, int* node, int* axis) {
  const Atoms wanted = s.draft.leaves(view.dims[dim]);
  Arrangement apart;
  for (const Atoms& whole : s.draft.layout(view.node)) {
    const Atoms parts = s.draft.leaves(whole);
    std::size_t first = 0;
    while (first < parts.size() && (wanted.empty() || parts[first].id != wanted[0].id)) ++first;
    if (first == parts.size()) {
      apart.push_back(parts);
      continue;
    }
    if (parts.size() < first + wanted.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (parts[first + i].id != wanted[i].id) return false;
    }
    const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(wanted.size());
    if (begin != parts.begin()) apart.emplace_back(parts.begin(), begin);
    *axis = static_cast<int>(apart.size());
    apart.emplace_back(begin, end);
    if (end != parts.end()) apart.emplace_back(end, parts.end());
  }
  if (*axis <= 0) return false;
  *node = s.draft.arrange(view.node, apart, s.node_name(Op::kReshape));
  return true;
}

View cut(ScriptImport& s, const View& in, std::size_t dim, const Range& range) {
  const std::int64_t whole = in.sizes().at(dim);
  if (whole == range.size) return in;
  if (range.size < 1 || range.step < 1 || range.start >= whole ||
      range.size - 1 > (whole - 1 - range.start) / range.step)
    throw Unsupported("reads behind the end of a dimension");
  for (const Atom& a : s.draft.leaves(in.dims[dim])) {
    if (a.id == kBatchAtom) throw Unsupported("works along the batch");
  }
  int node = -1, axis = 0;
  if (!set_apart(s, in, dim, &node, &axis)) {
    const Straight straight = s.straightened(in);
    node = straight.view.node;
    axis = ScriptImport::axis(straight, static_cast<std::int64_t>(dim));
  }
  Attrs attrs = {{"axis", std::int64_t{axis}},
                 {"start", range.start},
                 {"end", range.start + (range.size - 1) * range.step + 1}};
  if (range.step != 1) attrs["step"] = range.step;
  const int slice = s.draft.add(Op::kSlice, {node}, std::move(attrs), s.node_name(Op::kSlice));
  Arrangement layout = s.draft.layout(node);
  View out{slice, in.dims};
  out.dims[dim] = layout[static_cast<std::size_t>(axis)] =
      s.draft.layout(slice)[static_cast<std::size_t>(axis)];
  s.draft.set_layout(slice, std::move(layout));
  return out;
}

std::int64_t first_of(std::int64_t start, std::int64_t size) {
  return std::clamp<std::int64_t>(start < 0 ? start + size : start, 0, size);
}

void slice(ScriptImport& s) {
  const TracedValue& in = s.tensor("self");
  const std::size_t dim = normal_dim(s.integer("dim", 0), in.shape.size());
  if (s.output_shape() == in.shape) return hand_on(s);
  const std::int64_t start = first_of(s.integer("start", 0), in.shape[dim]);
  s.set_data(0, cut(s, s.data(in), dim, {start, size_at(s.output_shape(), dim), s.integer("step", 1)}));
}

void drop(View& view, std::size_t dim) {
  view.dims.erase(view.dims.begin() + static_cast<std::ptrdiff_t>(dim));
}

// The last state of one direction of the last layer is the output at one end of the sequence.
View state(ScriptImport& s, const TracedValue& in, std::int64_t which) {
  const std::int64_t directions = in.state_bidirectional ? 2 : 1;
  const std::int64_t last = (in.state_layers - 1) * directions;
  if (which < last) throw Unsupported("reads the state of a layer that is not the last");
  const Dims sizes = in.view.sizes();
  const bool backward = which - last == 1;
  View out = cut(s, in.view, 1, {backward ? 0 : sizes[1] - 1, 1});
  if (directions == 2) out = cut(s, out, 2, {backward ? sizes[2] / 2 : 0, sizes[2] / 2});
  drop(out, 1);
  return out;
}

View one_of(ScriptImport& s, const TracedValue& in, std::size_t dim, std::int64_t index) {
  if (in.kind == Kind::kState && dim == 0) return state(s, in, index);
  View out = cut(s, s.data(in), dim, {index, 1});
  drop(out, dim);
  return out;
}

void select(ScriptImport& s) {
  const TracedValue& in = s.tensor("self");
  const std::size_t dim = normal_dim(s.integer("dim", 0), in.shape.size());
  s.set_data(0, one_of(s, in, dim, first_of(s.integer("index", 0), in.shape[dim])));
}

// chunk, split, unbind: all outputs lie one behind the other.
void split(ScriptImport& s) {
  const TracedValue in = s.tensor("self");
  const std::size_t dim = normal_dim(s.integer("dim", 0), in.shape.size());
  const bool drops = s.output_shape().size() < in.shape.size();
  std::int64_t start = 0;
  for (std::size_t i = 0; i < s.outputs(); ++i) {
    const std::int64_t size = drops ? 1 : size_at(s.output_shape(i), dim);
    s.set_data(i, drops ? one_of(s, in, dim, start) : cut(s, s.data(in), dim, {start, size}));
    start += size;
  }
}

View joined(ScriptImport& s, const std::vector<Straight>& in, std::size_t dim) {
  if (in.empty()) throw Unsupported("joins no tensors");
  const int axis = ScriptImport::axis(in[0], static_cast<std::int64_t>(dim));
  std::vector<int> nodes;
  for (const Straight& one : in) {
    if (one.axes != in[0].axes) throw Unsupported("joins tensors of different layouts");
    nodes.push_back(one.view.node);
  }
  const int node = s.add(Op::kConcat, nodes, {{"axis", std::int64_t{axis}}});
  Arrangement layout = s.draft.layout(nodes[0]);
  View out{node, in[0].view.dims};
  out.dims[dim] = layout[static_cast<std::size_t>(axis)] =
      s.draft.layout(node)[static_cast<std::size_t>(axis)];
  s.draft.set_layout(node, std::move(layout));
  return out;
}

void concat(ScriptImport& s) {
  std::vector<TracedValue> in = s.tensors("tensors");
  const std::size_t dim = normal_dim(s.integer("dim", 0), s.output_shape().size());
  // A trained token before the sequence.
  if (in.size() == 2 && in[0].kind == Kind::kParameter && in[1].kind == Kind::kData && dim == 1 &&
      s.output_shape().size() == 3) {
    const Straight data = s.straight(in[1]);
    s.first_use(in[0].name);
    return s.set_data(0, s.derived(Op::kClassToken, data, {{"count", size_at(in[0].shape, 1)}},
                                   {ScriptImport::axis(data, 1)}));
  }
  // Old code starts a concatenation with an empty tensor.
  in.erase(std::remove_if(in.begin(), in.end(), [](const TracedValue& v) { return elements(v.shape) == 0; }),
           in.end());
  if (in.size() == 1) return s.set(0, in[0]);
  std::vector<Straight> parts;
  parts.reserve(in.size());
  for (const TracedValue& v : in) parts.push_back(s.straight(v));
  s.set_data(0, joined(s, parts, dim));
}

void stack(ScriptImport& s) {
  const std::size_t dim = normal_dim(s.integer("dim", 0), s.output_shape().size());
  std::vector<Straight> parts;
  for (const TracedValue& v : s.tensors("tensors")) {
    View view = s.data(v);
    if (dim > view.dims.size()) throw Unsupported("joins tensors of different layouts");
    view.dims.insert(view.dims.begin() + static_cast<std::ptrdiff_t>(dim), Atoms{});
    parts.push_back(s.straightened(view));
  }
  s.set_data(0, parts.size() == 1 ? parts[0].view : joined(s, parts, dim));
}

}  // namespace

void add_shape_steps(ScriptSteps& steps) {
  for (const char* name :
       {"contiguous", "clone", "to", "_to_copy", "detach", "alias", "type_as", "float", "lift_fresh"}) {
    steps[name] = hand_on;
  }
  for (const char* name : {"view", "reshape", "_unsafe_view", "_reshape_alias", "view_as", "reshape_as",
                           "flatten", "unflatten", "squeeze", "unsqueeze"}) {
    steps[name] = reshape;
  }
  for (const char* name : {"expand", "expand_as", "broadcast_to"}) steps[name] = expand;
  for (const char* name : {"transpose", "t", "swapaxes", "swapdims", "numpy_T"}) steps[name] = transpose;
  for (const char* name : {"chunk", "split", "split_with_sizes", "unbind", "unsafe_chunk", "unsafe_split",
                           "tensor_split", "unsafe_split_with_sizes"}) {
    steps[name] = split;
  }
  for (const char* name : {"slice", "narrow"}) steps[name] = slice;
  for (const char* name : {"cat", "concat", "concatenate"}) steps[name] = concat;
  steps["permute"] = permute;
  steps["select"] = select;
  steps["stack"] = stack;
}

}  // namespace ampere::script

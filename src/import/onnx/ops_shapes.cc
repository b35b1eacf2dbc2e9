// Ops that move elements: reshapes, slices, concatenation, resizing.
#include <algorithm>
#include <cmath>

#include "import/onnx/importer.h"
#include "import/onnx/sizes.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;
using Kind = Value::Kind;
using onnx::int_attr;

Handler embedding_handler() { return find_handler("ampere.Embedding"); }

// The value seen as another view; a factor that is still to come stays.
void put_view(Importer& im, const onnx::Node& node, View view, std::size_t output = 0) {
  Value v = im.input(node, 0);
  if (v.kind != Kind::kData || !v.pads.empty()) {
    im.put(node, std::move(view), output);
    return;
  }
  v.view = std::move(view);
  im.put(node, std::move(v), output);
}

View plain_view(Importer& im, const onnx::Node& node) {
  const Value& v = im.input(node, 0);
  return v.kind == Kind::kData && v.pads.empty() ? v.view : im.data(node, 0);
}

View resized(Importer& im, const View& x, const Ints& dims, const std::string& name) {
  View out;
  if (im.draft().reshape(x, dims, out)) return out;
  // Not to be told by views: a reshape that mixes dimensions.
  if (dims.empty() || dims[0] != im.draft().batch())
    throw Unsupported("a reshape that mixes the batch with others");
  Ints to = dims;
  to[0] = 0;
  const int n = im.draft().add(Op::kReshape, {im.as_is(x, name)}, {{"shape", to}}, name);
  return im.draft().view_of(n);
}

// Scores get another number of leading dimensions, to meet a mask.
bool reshape_scores(Importer& im, const onnx::Node& node, const Ints& dims) {
  Value v = im.input(node, 0);
  if (v.kind != Kind::kScores || dims.size() < 3) return false;
  const Ints now = im.sizes(v);
  if (now[now.size() - 1] != dims.back() || now[now.size() - 2] != dims[dims.size() - 2]) return false;
  v.scores = std::make_shared<Scores>(*v.scores);
  auto lead = [&](View& view) {
    const Ints sizes = view.sizes();
    Ints to(dims.begin(), dims.end() - 2);
    to.insert(to.end(), sizes.end() - 2, sizes.end());
    View out;
    if (!im.draft().reshape(view, to, out)) return false;
    view = out;
    return true;
  };
  if (!lead(v.scores->query) || !lead(v.scores->key)) return false;
  im.put(node, std::move(v));
  return true;
}

void reshape(Importer& im, const onnx::Node& node) {
  const Ints now = im.sizes(im.input(node, 0));
  std::optional<Ints> wanted;
  if (const Ints* given = onnx::ints_attr(node, "shape")) wanted = *given;
  if (im.has(node, 1) && im.input(node, 1).kind == Kind::kConstant)
    wanted = onnx::whole_numbers(im.constant(node, 1));
  if (!wanted) {
    auto told = im.model().shapes.find(node.outputs.empty() ? "" : node.outputs[0]);
    if (told == im.model().shapes.end()) throw Unsupported("a shape that depends on the data");
    wanted.emplace();
    for (const onnx::Dim& d : told->second.dims) wanted->push_back(d.value > 0 ? d.value : -1);
  }
  const auto dims = onnx::reshaped_dims(now, *wanted, int_attr(node, "allowzero", 0) == 1);
  if (!dims) throw Unsupported("a shape that does not fit");
  if (reshape_scores(im, node, *dims)) return;
  put_view(im, node, resized(im, plain_view(im, node), *dims, im.name_for(node)));
}

void flatten(Importer& im, const onnx::Node& node) {
  const View x = plain_view(im, node);
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  const std::int64_t given = int_attr(node, "axis", 1);
  const std::int64_t axis = std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  View out{x.node, {{}, {}}};
  for (std::int64_t i = 0; i < rank; ++i) {
    const Atoms& dim = x.dims[static_cast<std::size_t>(i)];
    Atoms& to = out.dims[i < axis ? 0 : 1];
    to.insert(to.end(), dim.begin(), dim.end());
  }
  put_view(im, node, std::move(out));
}

bool has_batch(const Atoms& dim) {
  return std::any_of(dim.begin(), dim.end(), [](const Atom& a) { return a.id == kBatchAtom; });
}

void squeeze(Importer& im, const onnx::Node& node) {
  const View x = plain_view(im, node);
  const auto axes = onnx::axes_of(node, im.constants(node));
  std::vector<bool> gone(x.dims.size(), false);
  for (std::size_t i = 0; i < x.dims.size(); ++i)
    gone[i] = !axes && size_of(x.dims[i]) == 1 && !has_batch(x.dims[i]);
  for (std::int64_t a : axes.value_or(Ints{})) {
    const auto at = onnx::axis_from_front(a, x.dims.size());
    if (!at || size_of(x.dims[*at]) != 1 || has_batch(x.dims[*at]))
      throw Unsupported("a squeeze of more than 1");
    gone[*at] = true;
  }
  View out{x.node, {}};
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    if (!gone[i]) out.dims.push_back(x.dims[i]);
  }
  put_view(im, node, std::move(out));
}

void unsqueeze(Importer& im, const onnx::Node& node) {
  View x = plain_view(im, node);
  const auto axes = onnx::axes_of(node, im.constants(node));
  if (!axes || x.dims.size() + axes->size() > 16) throw Unsupported("axes that depend on the data");
  Ints places;
  for (std::int64_t a : *axes) {
    const auto at = onnx::axis_from_front(a, x.dims.size() + axes->size());
    if (!at) throw Unsupported("an axis that is not there");
    places.push_back(static_cast<std::int64_t>(*at));
  }
  std::sort(places.begin(), places.end());
  for (std::int64_t p : places) {
    if (p > static_cast<std::int64_t>(x.dims.size())) throw Unsupported("axes that leave gaps");
    x.dims.insert(x.dims.begin() + p, Atoms{});
  }
  put_view(im, node, std::move(x));
}

void transpose(Importer& im, const onnx::Node& node) {
  const View x = plain_view(im, node);
  View out{x.node, {}};
  const Ints* perm = onnx::ints_attr(node, "perm");
  if (perm && perm->size() != x.dims.size()) throw Unsupported("an order of other dimensions");
  std::vector<bool> taken(x.dims.size(), false);
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    const auto at = onnx::axis_from_front(
        perm ? (*perm)[i] : static_cast<std::int64_t>(x.dims.size() - 1 - i), x.dims.size());
    if (!at || taken[*at]) throw Unsupported("an order that is none");
    taken[*at] = true;
    out.dims.push_back(x.dims[*at]);
  }
  put_view(im, node, std::move(out));
}

void same(Importer& im, const onnx::Node& node) {
  Value v = im.input(node, 0);
  im.put(node, std::move(v));
}

// Elements `start`, `start + step`, ... of one dimension of the view.
View cut(Importer& im, const View& x, const onnx::Cut& c, const std::string& name) {
  NetworkDraft& draft = im.draft();
  const Atoms whole = draft.leaves(x.dims[c.axis]);
  if (c.start == 0 && c.step == 1 && c.count == size_of(whole)) return x;
  if (has_batch(whole)) throw Unsupported("a part of the batch");
  if (c.count < 1 || c.step < 1) throw Unsupported("an empty or reversed part");
  const Arrangement& layout = draft.layout(x.node);
  for (std::size_t k = 1; k < layout.size(); ++k) {
    // The dimension, or the leading factor of one, such as the 3 of query, key and value.
    const Atoms have = draft.leaves(layout[k]);
    if (whole.empty() || have.size() < whole.size()) continue;
    const Atoms front(have.begin(), have.begin() + static_cast<std::ptrdiff_t>(whole.size()));
    const Atoms rest(have.begin() + static_cast<std::ptrdiff_t>(whole.size()), have.end());
    if (!draft.same(front, whole) || (c.step != 1 && !rest.empty())) continue;
    const std::int64_t unit = size_of(rest);
    const std::int64_t end = c.start + (c.count - 1) * c.step + 1;
    const Atoms part = c.count == 1 ? Atoms{} : Atoms{draft.fresh(c.count)};
    const int n = im.slice(x.node, static_cast<std::int64_t>(k), c.start * unit, end * unit, c.step, name);
    Arrangement now = layout;
    now[k] = part;
    now[k].insert(now[k].end(), rest.begin(), rest.end());
    View out{n, x.dims};
    if (draft.layout(n)[k].size() == now[k].size() && im.slice_is_old()) {
      // Cut before: its atoms are known by other views.
      const Atoms& old = draft.layout(n)[k];
      out.dims[c.axis] = c.count == 1 ? Atoms{} : Atoms{old[0]};
    } else {
      draft.set_layout(n, now);
      out.dims[c.axis] = part;
    }
    return out;
  }
  // Not as it lies: bring it into the form in which the file sees it.
  const Arrangement form = draft.canonical(x);
  const int n = draft.arrange(x.node, form, name);
  if (n == x.node) throw Unsupported("a part of a dimension that is folded with others");
  return cut(im, {n, x.dims}, c, name);
}

void slice(Importer& im, const onnx::Node& node) {
  View x = plain_view(im, node);
  const auto cuts = onnx::slice_cuts(node, im.constants(node), x.sizes());
  if (!cuts) throw Unsupported("bounds that depend on the data");
  for (const onnx::Cut& c : *cuts) x = cut(im, x, c, im.name_for(node));
  put_view(im, node, std::move(x));
}

// Other strides for the same elements: PyTorch's exporter flattens the value and looks every element up.
bool gather_everything(const View& x, const onnx::Constant& index) {
  if (x.dims.size() != 1 || index.dims.size() < 2 || index.elements() != size_of(x.dims[0])) return false;
  if (!index.values) return true;
  double next = 0;
  return std::all_of(index.values->begin(), index.values->end(), [&](double at) { return at == next++; });
}

void gather(Importer& im, const onnx::Node& node) {
  if (im.input(node, 0).kind == Kind::kConstant) {
    embedding_handler()(im, node);
    return;
  }
  const View x = plain_view(im, node);
  if (gather_everything(x, im.constant(node, 1))) {
    put_view(im, node, resized(im, x, im.constant(node, 1).dims, im.name_for(node)));
    return;
  }
  const auto axis = onnx::axis_from_front(int_attr(node, "axis", 0), x.dims.size());
  const auto places = onnx::whole_numbers(im.constant(node, 1));
  if (!axis || !places || places->empty()) throw Unsupported("places that the file does not tell");
  const std::int64_t size = size_of(x.dims[*axis]);
  auto at = [&](std::size_t i) { return (*places)[i] < 0 ? (*places)[i] + size : (*places)[i]; };
  const std::int64_t step = places->size() > 1 ? at(1) - at(0) : 1;
  for (std::size_t i = 0; i < places->size(); ++i) {
    if (at(i) < 0 || at(i) >= size || at(i) != at(0) + static_cast<std::int64_t>(i) * step || step < 1)
      throw Unsupported("places out of order");
  }
  View out = cut(im, x, {*axis, at(0), step, static_cast<std::int64_t>(places->size())}, im.name_for(node));
  const std::size_t rank = im.constant(node, 1).dims.size();
  if (rank > 1) throw Unsupported("places of several dimensions");
  if (rank == 0) out.dims.erase(out.dims.begin() + static_cast<std::ptrdiff_t>(*axis));
  put_view(im, node, std::move(out));
}

void split(Importer& im, const onnx::Node& node) {
  const View x = plain_view(im, node);
  const auto axis = onnx::axis_from_front(int_attr(node, "axis", 0), x.dims.size());
  if (!axis) throw Unsupported("an axis that is not there");
  const auto sizes = onnx::split_sizes(node, im.constants(node), size_of(x.dims[*axis]));
  if (!sizes) throw Unsupported("sizes that depend on the data");
  std::int64_t start = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    if (im.used(node, i))
      put_view(im, node, cut(im, x, {*axis, start, 1, (*sizes)[i]}, im.name_for(node)), i);
    start += (*sizes)[i];
  }
}

// A trained vector before a sequence.
bool class_token(Importer& im, const onnx::Node& node) {
  if (node.inputs.size() != 2 || im.input(node, 0).kind != Kind::kConstant || !im.input(node, 0).learned)
    return false;
  const onnx::Constant& token = im.constant(node, 0);
  const View x = im.data(node, 1);
  const auto axis = onnx::axis_from_front(int_attr(node, "axis", 1), x.dims.size());
  if (x.dims.size() != 3 || token.dims.size() != 3 || !axis || *axis != 1 || !has_batch(x.dims[0]))
    return false;
  NetworkDraft& draft = im.draft();
  const std::string name = im.name_for(node, im.input(node, 0).source);
  const int in = draft.arrange(x.node, draft.canonical(x), name);
  const int n = draft.add(Op::kClassToken, {in}, {{"count", token.dims[1]}}, name);
  Arrangement layout = draft.layout(n);
  layout[2] = x.dims[2];
  draft.set_layout(n, layout);
  im.put(node, draft.view_of(n));
  return true;
}

// Two parts that make up a value again, the second one first: a roll. Two rolls in a row are one.
std::optional<int> rolled(Importer& im, const std::vector<int>& inputs, std::size_t place,
                          const std::string& name) {
  if (inputs.size() != 2) return std::nullopt;
  const Importer::Part *a = im.part(inputs[0]), *b = im.part(inputs[1]);
  if (!a || !b || a->source != b->source || a->axis != b->axis || a->axis != static_cast<std::int64_t>(place))
    return std::nullopt;
  if (b->start != 0 || b->end != a->start || a->end != a->whole) return std::nullopt;
  NetworkDraft& draft = im.draft();
  int source = a->source;
  Ints shifts, axes;
  const Node& before = draft.node(source);
  const bool more =
      before.op == Op::kRoll &&
      std::find(before.list("axes").begin(), before.list("axes").end(), a->axis) == before.list("axes").end();
  if (more) {
    shifts = before.list("shifts");
    axes = before.list("axes");
    source = before.inputs[0];
  }
  shifts.push_back(2 * a->start <= a->whole ? -a->start : a->whole - a->start);
  axes.push_back(a->axis);
  return draft.add(Op::kRoll, {source}, {{"shifts", shifts}, {"axes", axes}}, name);
}

void concat(Importer& im, const onnx::Node& node) {
  if (class_token(im, node)) return;
  NetworkDraft& draft = im.draft();
  const std::string name = im.name_for(node);
  std::vector<int> inputs;
  View out;
  std::size_t place = 0;
  std::optional<std::size_t> axis;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const View v = im.data(node, i);
    if (i == 0) {
      out = v;
      axis = onnx::axis_from_front(int_attr(node, "axis", 1), v.dims.size());
      if (!axis || has_batch(v.dims[*axis])) throw Unsupported("a concatenation along the batch");
      place = 1;
      for (std::size_t k = 0; k < *axis; ++k) {
        const bool only_batch = v.dims[k].size() == 1 && has_batch(v.dims[k]);
        if (!only_batch) ++place;
      }
    }
    if (v.dims.size() != out.dims.size()) throw Unsupported("values of different dimensions");
    inputs.push_back(draft.arrange(v.node, draft.canonical(v), name));
  }
  if (inputs.size() == 1) {
    im.put(node, out);
    return;
  }
  const Arrangement first = draft.layout(inputs[0]);
  const auto roll = rolled(im, inputs, place, name);
  const int n =
      roll ? *roll : draft.add(Op::kConcat, inputs, {{"axis", static_cast<std::int64_t>(place)}}, name);
  Arrangement layout = first;
  layout[place] = draft.layout(n)[place];
  out.dims[*axis] = layout[place];
  draft.set_layout(n, layout);
  out.node = n;
  im.put(node, std::move(out));
}

void expand(Importer& im, const onnx::Node& node) {
  const View x = plain_view(im, node);
  const auto wanted = onnx::whole_numbers(im.constant(node, 1));
  if (!wanted) throw Unsupported("a shape that depends on the data");
  const auto dims = onnx::broadcast_dims(x.sizes(), *wanted);
  if (!dims || *dims != x.sizes()) throw Unsupported("a value that is repeated");
  put_view(im, node, x);
}

void pad(Importer& im, const onnx::Node& node) {
  Value v = im.input(node, 0);
  std::optional<Ints> pads;
  if (const Ints* given = onnx::ints_attr(node, "pads")) pads = *given;
  if (im.has(node, 1)) pads = onnx::whole_numbers(im.constant(node, 1));
  if (im.has(node, 3)) throw Unsupported("axes");
  const std::size_t rank = im.sizes(v).size();
  if (!pads || pads->size() != 2 * rank) throw Unsupported("sizes that depend on the data");
  const bool none = std::all_of(pads->begin(), pads->end(), [](auto p) { return p == 0; });
  for (std::size_t i = 0; i < pads->size(); ++i) {
    if ((*pads)[i] < 0 || (*pads)[i] > kMaxWidth || ((*pads)[i] > 0 && i % rank < 2))
      throw Unsupported("padding of batch or channels, or negative padding");
  }
  if (!none) {
    if (!v.pads.empty()) throw Unsupported("padding twice");
    v.pads = *pads;
  }
  im.put(node, std::move(v));
}

void resize(Importer& im, const onnx::Node& node) {
  const View x = im.data(node, 0);
  const Ints now = x.sizes();
  if (now.size() != 4) throw Unsupported("other than 4 dimensions");
  const std::string mode = onnx::text_attr(node, "mode", "nearest");
  if (mode == "cubic") throw Unsupported("cubic interpolation");
  const auto constants = im.constants(node);
  std::vector<double> scales;
  for (std::size_t i = 1; i < constants.size(); ++i) {
    if (!constants[i] || !constants[i]->values || constants[i]->values->size() != 4) continue;
    if (i == 1 && constants.size() > 2) continue;  // the region of interest
    scales = *constants[i]->values;
    for (std::size_t k = 0; i == 3 && k < 4; ++k) scales[k] /= static_cast<double>(now[k]);
  }
  auto it = node.attributes.find("scales");
  if (it != node.attributes.end()) scales = it->second.floats;
  if (scales.size() != 4) throw Unsupported("a size that depends on the data");
  Ints factor;
  for (double s : scales) {
    if (!(s >= 1 && s <= 1024) || std::abs(s - std::round(s)) > 1e-6)
      throw Unsupported("a factor that is not whole");
    factor.push_back(static_cast<std::int64_t>(std::round(s)));
  }
  if (factor[0] != 1 || factor[1] != 1) throw Unsupported("more channels");
  const std::string name = im.name_for(node);
  const int n = im.draft().add(Op::kUpsample, {im.as_is(x, name)},
                               {{"factor", Ints{factor[2], factor[3]}},
                                {"mode", std::string(mode == "nearest" ? "nearest" : "bilinear")}},
                               name);
  im.put(node, im.draft().view_of(n));
}

}  // namespace

void add_shape_ops(Handlers& handlers) {
  handlers["Reshape"] = reshape;
  handlers["Flatten"] = flatten;
  handlers["Squeeze"] = squeeze;
  handlers["Unsqueeze"] = unsqueeze;
  handlers["Transpose"] = transpose;
  handlers["Identity"] = same;
  handlers["Cast"] = same;
  handlers["Slice"] = slice;
  handlers["Gather"] = gather;
  handlers["Split"] = split;
  handlers["Concat"] = concat;
  handlers["Expand"] = expand;
  handlers["Pad"] = pad;
  handlers["Resize"] = resize;
  handlers["Upsample"] = resize;
}

}  // namespace ampere

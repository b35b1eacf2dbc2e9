// Products of two values, softmax, and the attention that they make up.
#include <algorithm>
#include <cmath>

#include "import/onnx/importer.h"
#include "import/onnx/sizes.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;
using Kind = Value::Kind;
using onnx::int_attr;

// What stands before the two dimensions of a product, without the batch: windows that attend to themselves,
// and heads. Both are alike to the product, but heads are a part of the features, and windows of the
// positions.
struct Lead {
  Atoms windows, heads;
};

bool holds(const Atoms& atoms, int id) {
  return std::any_of(atoms.begin(), atoms.end(), [&](const Atom& a) { return a.id == id; });
}

// Heads have the last of the leading dimensions to themselves, or are folded with the batch; then they are
// told from windows by where they lie. Without `split`, all are heads.
Lead lead_of(const NetworkDraft& draft, const View& view, bool split) {
  const std::size_t count = view.dims.size() - 2;
  const Atoms features = draft.leaves(draft.layout(view.node).back());
  const bool apart = count > 1 && !holds(draft.leaves(view.dims[count - 1]), kBatchAtom);
  Lead out;
  bool first = true;
  for (std::size_t i = 0; i < count; ++i) {
    for (const Atom& a : draft.leaves(view.dims[i])) {
      if (first != (a.id == kBatchAtom)) throw Unsupported("a product without the batch in front");
      const bool head = !split || (apart && i + 1 == count) || holds(features, a.id);
      if (!first) (head ? out.heads : out.windows).push_back(a);
      first = false;
    }
  }
  if (first) throw Unsupported("a product without the batch in front");
  return out;
}

bool alike(const Lead& a, const Lead& b) {
  return size_of(a.windows) == size_of(b.windows) && size_of(a.heads) == size_of(b.heads);
}

// Of several operands, which must agree.
std::vector<Lead> leads_of(const NetworkDraft& draft, const std::vector<View>& views) {
  for (const bool split : {true, false}) {
    std::vector<Lead> out;
    out.reserve(views.size());
    for (const View& v : views) out.push_back(lead_of(draft, v, split));
    if (std::all_of(out.begin(), out.end(), [&](const Lead& l) { return alike(l, out[0]); })) return out;
  }
  throw Unsupported("a product of values that are repeated, such as heads that are shared");
}

Atoms joined(Atoms a, const Atoms& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The batch, windows where there are any, and these dimensions.
Arrangement behind_windows(const NetworkDraft& draft, const Lead& lead, const Arrangement& rest) {
  Arrangement out = {{{kBatchAtom, draft.batch()}}};
  if (!lead.windows.empty()) out.push_back(lead.windows);
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

// Query, key or value: where its positions and its features are.
struct Operand {
  int node;
  Lead lead;
  Atoms length, width;

  Atoms features() const { return joined(lead.heads, width); }
};

int arranged(NetworkDraft& draft, const Operand& o, const std::string& name) {
  return draft.arrange(o.node, behind_windows(draft, o.lead, {o.length, o.features()}), name);
}

// One node that holds query, key and value side by side, where they are its thirds; else none.
std::optional<int> packed(Importer& im, const std::vector<Operand>& qkv, const std::string& name) {
  NetworkDraft& draft = im.draft();
  const Importer::Part* first = im.part(qkv[0].node);
  if (!first) return std::nullopt;
  const int source = first->source;
  const std::int64_t width = first->end, last = draft.shape(source).rank() - 1;
  for (std::size_t i = 0; i < qkv.size(); ++i) {
    const Importer::Part* p = im.part(qkv[i].node);
    if (!p || p->source != source || p->axis != last || p->whole != 3 * width) return std::nullopt;
    if (p->start != static_cast<std::int64_t>(i) * width || p->end - p->start != width) return std::nullopt;
    const bool alike = draft.same(qkv[i].length, qkv[0].length) &&
                       draft.same(qkv[i].lead.windows, qkv[0].lead.windows) &&
                       draft.same(qkv[i].features(), draft.layout(qkv[i].node).back());
    if (!alike) return std::nullopt;
  }
  const Arrangement wanted = behind_windows(draft, qkv[0].lead, {qkv[0].length, draft.layout(source).back()});
  return draft.arrange(source, wanted, name);
}

// A leading dimension of the query, with `head` in the place of its heads, all of which must lie in it.
Atoms with_heads(const NetworkDraft& draft, const Atoms& dim, const Lead& lead, const Atoms& head) {
  Atoms out;
  std::size_t found = 0;
  for (const Atom& a : draft.leaves(dim)) {
    if (!holds(lead.heads, a.id)) {
      out.push_back(a);
    } else if (found++ == 0) {
      out.insert(out.end(), head.begin(), head.end());
    }
  }
  if (found != 0 && found != lead.heads.size()) throw Unsupported("attention with two dimensions of heads");
  return out;
}

View attention(Importer& im, const Scores& s, const View& v, const std::string& name) {
  NetworkDraft& draft = im.draft();
  const std::size_t rank = s.query.dims.size();
  if (v.dims.size() != rank) throw Unsupported("attention over values of other dimensions");
  const std::vector<Lead> leads = leads_of(draft, {s.query, s.key, v});
  const std::int64_t heads = size_of(leads[0].heads);
  const Atoms& lq = s.query.dims[rank - 2];
  const std::vector<Operand> qkv = {{s.query.node, leads[0], lq, s.query.dims[rank - 1]},
                                    {s.key.node, leads[1], s.key.dims[rank - 1], s.key.dims[rank - 2]},
                                    {v.node, leads[2], v.dims[rank - 2], v.dims[rank - 1]}};
  std::vector<int> inputs;
  if (const auto one = packed(im, qkv, name)) {
    inputs = {*one};
  } else {
    for (const Operand& o : qkv) inputs.push_back(arranged(draft, o, name));
  }
  const int n = draft.add(Op::kAttentionCore, inputs,
                          {{"heads", heads},
                           {"mask", std::string(s.masked ? "additive" : "none")},
                           {"dropout", s.dropout},
                           {"rows", s.bias_rows}},
                          name);
  const Atoms head = heads == 1 ? Atoms{} : Atoms{draft.fresh(heads)};
  const Atoms width = {draft.fresh(size_of(v.dims[rank - 1]))};
  draft.set_layout(n, behind_windows(draft, leads[0], {lq, joined(head, width)}));
  View out{n, Arrangement(rank)};
  for (std::size_t i = 0; i + 2 < rank; ++i) out.dims[i] = with_heads(draft, s.query.dims[i], leads[0], head);
  out.dims[rank - 2] = lq;
  out.dims[rank - 1] = width;
  return out;
}

// Rows of the table that a bias of every pair of positions was looked up in, where the exporter has done that
// already: relative positions in a square, with three rows more where a class token is among them.
std::int64_t relative_rows(std::int64_t queries, std::int64_t keys) {
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(queries)));
  const std::int64_t rows = (2 * side - 1) * (2 * side - 1);
  if (queries != keys) return 0;
  if (side * side == queries) return rows;
  return side * side + 1 == queries ? rows + 3 : 0;
}

void matmul(Importer& im, const onnx::Node& node) {
  const Value &a = im.input(node, 0), &b = im.input(node, 1);
  if (b.kind == Kind::kConstant) {
    if (b.constant.dims.size() != 2) throw Unsupported("weights of other than 2 dimensions");
    const View y = linear(im, im.data(node, 0), b.constant.dims[1], false, im.name_for(node, b.source));
    if (im.tables.count(b.source) > 0) im.draft().set(y.node, "tied", true);
    im.put(node, y);
    return;
  }
  if (a.kind == Kind::kConstant) throw Unsupported("weights on the left of a product");
  put_product(im, node, a, b);
}

template <Op op>
void softmax(Importer& im, const onnx::Node& node) {
  Value v = im.input(node, 0);
  const std::size_t rank = im.sizes(v).size();
  const auto axis = onnx::axis_from_front(int_attr(node, "axis", im.opset() < 13 ? 1 : -1), rank);
  if (!axis || *axis == 0) throw Unsupported("a softmax over the batch");
  if (v.kind == Kind::kScores && *axis + 1 == rank && op == Op::kSoftmax && !v.scores->softmax) {
    v.scores = std::make_shared<Scores>(*v.scores);
    v.scores->softmax = true;
    im.put(node, std::move(v));
    return;
  }
  const View x = im.data(v, im.name_for(node));
  const std::string name = im.name_for(node);
  const bool last = *axis + 1 == rank;
  const int in = last ? im.features_last(x, name) : im.as_is(x, name);
  const std::int64_t at = last ? -1 : static_cast<std::int64_t>(*axis);
  im.put(node, {im.draft().add_like(op, in, {{"axis", at}}, name), x.dims});
}

}  // namespace

void put_product(Importer& im, const onnx::Node& node, const Value& a, const Value& b) {
  if (a.kind == Kind::kScores && a.scores->softmax && b.kind == Kind::kData) {
    im.put(node, attention(im, *a.scores, im.data(b, im.name_for(node)), im.name_for(node)));
    return;
  }
  // A factor of either is part of attention: it costs nothing apart.
  auto operand = [&](const Value& v) {
    return v.kind == Kind::kData && v.pads.empty() ? v.view : im.data(v, im.name_for(node));
  };
  Value out;
  out.kind = Kind::kScores;
  out.scores = std::make_shared<Scores>();
  out.scores->query = operand(a);
  out.scores->key = operand(b);
  out.scores->name = im.name_for(node);
  const std::size_t rank = out.scores->query.dims.size();
  if (rank < 3 || out.scores->key.dims.size() != rank)
    throw Unsupported("a product of values of different dimensions");
  if (size_of(out.scores->query.dims[rank - 1]) != size_of(out.scores->key.dims[rank - 2]))
    throw Unsupported("a product whose sizes do not fit");
  im.put(node, std::move(out));
}

bool add_trained_bias(Importer& im, const Value& bias, Scores& scores) {
  if (!bias.learned || scores.bias_rows > 0) return false;
  // One table may serve all layers. Without a table, equal initializers may only have been made one on
  // export.
  const bool named = bias.rows > 0 && !bias.source.empty();
  if (named && im.biases.count(bias.source) > 0) return false;  // counted already
  const Ints dims = im.sizes(bias), all = scores.query.sizes();
  const std::int64_t queries = all[all.size() - 2], keys = scores.key.sizes().back();
  if (all.size() < 4 || dims.size() < 3 || dims.size() > all.size()) return false;
  const std::int64_t heads = all[all.size() - 3];
  if (queries > kMaxWidth || keys > kMaxWidth) return false;
  // What is the same for all heads, or differs from window to window, is a mask.
  const bool alike = std::all_of(dims.begin(), dims.end() - 3, [](std::int64_t d) { return d == 1; });
  const bool own = (alike || bias.rows > 0) && dims[dims.size() - 3] == heads &&
                   dims[dims.size() - 2] == queries && dims.back() == keys;
  if (!own || (heads == 1 && bias.rows == 0)) return false;
  if (named) im.biases.insert(bias.source);
  scores.bias_rows = bias.rows;
  if (bias.rows == 0) {
    scores.bias_rows = relative_rows(queries, keys);
    if (scores.bias_rows > 0)
      ++im.seen.position_tables;
    else
      scores.bias_rows = queries * keys;  // every pair of positions has its own
  }
  return true;
}

View spelled_out(Importer& im, const Scores& s) {
  NetworkDraft& draft = im.draft();
  const std::size_t rank = s.query.dims.size();
  const std::vector<Lead> leads = leads_of(draft, {s.query, s.key});
  auto form = [&](const View& v, const Lead& lead) {
    Arrangement rest;
    if (!lead.heads.empty()) rest.push_back(lead.heads);
    rest.push_back(v.dims[rank - 2]);
    rest.push_back(v.dims[rank - 1]);
    return behind_windows(draft, lead, rest);
  };
  const int q = draft.arrange(s.query.node, form(s.query, leads[0]), s.name);
  const int k = draft.arrange(s.key.node, form(s.key, leads[1]), s.name);
  int n = draft.add(Op::kMatmul, {q, k}, {}, s.name);
  Arrangement layout = form(s.query, leads[0]);
  layout.back() = s.key.dims[rank - 1];
  draft.set_layout(n, layout);
  if (s.bias_rows > 0) {
    const Ints shape(leads[0].heads.empty() ? 2 : 3, 0);
    n = draft.add_like(Op::kLearnedAdd, n, {{"shape", shape}}, s.name);
  }
  if (s.masked) n = draft.add_like(Op::kScale, n, {}, s.name);
  if (s.softmax) n = draft.add_like(Op::kSoftmax, n, {}, s.name);
  if (s.dropout > 0) n = draft.add_like(Op::kDropout, n, {{"p", s.dropout}}, s.name);
  View out{n, s.query.dims};
  out.dims.back() = s.key.dims[rank - 1];
  return out;
}

void add_attention_ops(Handlers& handlers) {
  handlers["MatMul"] = matmul;
  handlers["Softmax"] = softmax<Op::kSoftmax>;
  handlers["LogSoftmax"] = softmax<Op::kLogSoftmax>;
}

}  // namespace ampere

// Products of two values, softmax, and the attention that they make up.
#include <algorithm>

#include "import/onnx/importer.h"
#include "import/onnx/sizes.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;
using Kind = Value::Kind;
using onnx::int_attr;

// Heads of an operand (batch, heads, ..., ...), whether they stand alone or are folded with the batch.
Atoms heads_of(const NetworkDraft& draft, const View& view) {
  Atoms lead;
  for (std::size_t i = 0; i + 2 < view.dims.size(); ++i) {
    const Atoms some = draft.leaves(view.dims[i]);
    lead.insert(lead.end(), some.begin(), some.end());
  }
  if (lead.empty() || lead[0].id != kBatchAtom) throw Unsupported("a product without the batch in front");
  return {lead.begin() + 1, lead.end()};
}

Atoms joined(Atoms a, const Atoms& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// One node that holds query, key and value side by side, where they are its thirds; else none.
std::optional<int> packed(const Importer& im, int q, int k, int v) {
  const Importer::Part *a = im.part(q), *b = im.part(k), *c = im.part(v);
  if (!a || !b || !c || a->source != b->source || a->source != c->source) return std::nullopt;
  const std::int64_t width = a->end - a->start;
  const bool thirds = a->start == 0 && b->start == width && c->start == 2 * width &&
                      b->end - b->start == width && c->end - c->start == width && a->axis == 2 &&
                      b->axis == 2 && c->axis == 2;
  if (!thirds || a->whole != 3 * width) return std::nullopt;
  return a->source;
}

View attention(Importer& im, const Scores& s, const View& v, const std::string& name) {
  NetworkDraft& draft = im.draft();
  const Atoms batch = {{kBatchAtom, draft.batch()}};
  const std::size_t rank = s.query.dims.size();
  if (v.dims.size() != rank) throw Unsupported("attention over values of other dimensions");
  const Atoms hq = heads_of(draft, s.query), hk = heads_of(draft, s.key), hv = heads_of(draft, v);
  if (size_of(hq) != size_of(hk) || size_of(hq) != size_of(hv))
    throw Unsupported("attention whose heads are shared");
  const Atoms &lq = s.query.dims[rank - 2], &lk = s.key.dims[rank - 1], &lv = v.dims[rank - 2];
  const int q = draft.arrange(s.query.node, {batch, lq, joined(hq, s.query.dims[rank - 1])}, name);
  const int k = draft.arrange(s.key.node, {batch, lk, joined(hk, s.key.dims[rank - 2])}, name);
  const int w = draft.arrange(v.node, {batch, lv, joined(hv, v.dims[rank - 1])}, name);
  std::vector<int> inputs = {q, k, w};
  if (const auto one = packed(im, q, k, w)) inputs = {*one};
  const int n = draft.add(
      Op::kAttentionCore, inputs,
      {{"heads", size_of(hq)}, {"mask", std::string(s.masked ? "additive" : "none")}, {"dropout", s.dropout}},
      name);
  const Atoms head = size_of(hq) == 1 ? Atoms{} : Atoms{draft.fresh(size_of(hq))};
  const Atoms width = {draft.fresh(size_of(v.dims[rank - 1]))};
  draft.set_layout(n, {batch, lq, joined(head, width)});
  View out{n, {}};
  if (rank == 3) {
    out.dims = {joined(batch, head), lq, width};
  } else {
    // Further leading dimensions can only be of size 1.
    out.dims.assign(rank, Atoms{});
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      const Atoms lead = draft.leaves(s.query.dims[i]);
      if (std::any_of(lead.begin(), lead.end(), [](const Atom& a) { return a.id == kBatchAtom; }))
        out.dims[i] = batch;
      else if (size_of(lead) == size_of(hq))
        out.dims[i] = head;
      else if (!lead.empty())
        throw Unsupported("attention with two dimensions of heads");
    }
    out.dims[rank - 2] = lq;
    out.dims[rank - 1] = width;
  }
  return out;
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
  if (a.kind == Kind::kScores && a.scores->softmax && b.kind == Kind::kData) {
    im.put(node, attention(im, *a.scores, im.data(node, 1), im.name_for(node)));
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

View spelled_out(Importer& im, const Scores& s) {
  NetworkDraft& draft = im.draft();
  const Atoms batch = {{kBatchAtom, draft.batch()}};
  const std::size_t rank = s.query.dims.size();
  const Atoms hq = heads_of(draft, s.query), hk = heads_of(draft, s.key);
  if (size_of(hq) != size_of(hk)) throw Unsupported("a product of values that are repeated");
  auto form = [&](const View& v, const Atoms& heads) {
    Arrangement out = {batch};
    if (!heads.empty()) out.push_back(heads);
    out.push_back(v.dims[rank - 2]);
    out.push_back(v.dims[rank - 1]);
    return out;
  };
  const int q = draft.arrange(s.query.node, form(s.query, hq), s.name);
  const int k = draft.arrange(s.key.node, form(s.key, hk), s.name);
  int n = draft.add(Op::kMatmul, {q, k}, {}, s.name);
  Arrangement layout = form(s.query, hq);
  layout.back() = s.key.dims[rank - 1];
  draft.set_layout(n, layout);
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

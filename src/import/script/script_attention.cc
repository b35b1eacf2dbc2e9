// Products of two tensors, softmax, and attention, whether it is one op or spelled out.
#include <algorithm>
#include <optional>
#include <utility>

#include "import/script/script_import.h"

namespace ampere::script {
namespace {

using Kind = TracedValue::Kind;

constexpr int kDeepestProduct = 100;  // they are spelled out by recursion

bool is_weight(const TracedValue& v) { return v.kind == Kind::kParameter || v.kind == Kind::kConstant; }

// (..., length, width) as (batch, length, heads x width): what is in front beside the batch counts as heads.
struct Headed {
  int node = -1;
  std::int64_t heads = 1;
};

Headed headed(ScriptImport& s, const View& in, bool turned) {
  const std::size_t rank = in.dims.size();
  if (rank < 3) throw Unsupported("multiplies without a batch");
  Arrangement wanted = {{}, in.dims[turned ? rank - 1 : rank - 2], {}};
  Headed result;
  for (std::size_t dim = 0; dim + 2 < rank; ++dim) {
    for (const Atom& atom : s.draft.leaves(in.dims[dim])) {
      wanted[atom.id == kBatchAtom ? 0 : 2].push_back(atom);
      if (atom.id != kBatchAtom) result.heads *= atom.size;
    }
  }
  if (wanted[0].empty()) throw Unsupported("multiplies along the batch");
  const Atoms& width = in.dims[turned ? rank - 2 : rank - 1];
  wanted[2].insert(wanted[2].end(), width.begin(), width.end());
  result.node = s.draft.arrange(in.node, wanted, s.node_name(Op::kReshape));
  return result;
}

// Which third of a tensor (batch, length, 3 x width) a node is, and of which.
struct Third {
  int whole = -1;
  std::int64_t which = 0;
};

int behind_reshapes(const NetworkDraft& draft, int node) {
  while (draft.node(node).op == Op::kReshape || draft.node(node).op == Op::kFlatten)
    node = draft.node(node).inputs[0];
  return node;
}

std::optional<Third> third_of(const NetworkDraft& draft, int node) {
  const Dims& dims = draft.shape(node).dims;
  const int cut = behind_reshapes(draft, node);
  const Node& slice = draft.node(cut);
  if (slice.op != Op::kSlice || slice.integer("step") != 1 || slice.integer("axis") != 2) return std::nullopt;
  const std::int64_t size = draft.shape(cut).dims[2];
  if (draft.shape(slice.inputs[0]).dims[2] != 3 * size) return std::nullopt;
  const int whole = behind_reshapes(draft, slice.inputs[0]);
  const Dims& all = draft.shape(whole).dims;
  if (all.size() != 3 || all[1] != dims[1] || all[2] != 3 * dims[2]) return std::nullopt;
  return Third{whole, slice.integer("start") / size};
}

// The tensor that holds query, key and value side by side, where there is one.
std::vector<int> packed(const NetworkDraft& draft, const std::vector<int>& in) {
  int whole = -1;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto third = third_of(draft, in[i]);
    if (!third || third->which != static_cast<std::int64_t>(i) || (i > 0 && third->whole != whole)) return in;
    whole = third->whole;
  }
  return {whole};
}

struct Core {
  std::string mask = "none";
  double dropout = 0;
};

void attention(ScriptImport& s, const View& query, const View& key, bool key_turned, const View& value,
               const Core& core) {
  const Headed q = headed(s, query, false), k = headed(s, key, key_turned), v = headed(s, value, false);
  if (q.heads != k.heads || q.heads != v.heads) throw Unsupported("has other heads in key and value");
  const int node = s.add(Op::kAttentionCore, packed(s.draft, {q.node, k.node, v.node}),
                         {{"heads", q.heads}, {"mask", core.mask}, {"dropout", core.dropout}});
  Arrangement layout = s.draft.layout(node);
  layout[1] = s.draft.layout(q.node)[1];  // as long as the query
  s.draft.set_layout(node, std::move(layout));
  // (batch, length, heads x width) seen as (batch, heads, length, width), and from there as the op put it
  // out.
  const Dims& dims = s.draft.shape(node).dims;
  View out = s.reshaped(s.draft.view_of(node), {dims[0], dims[1], q.heads, dims[2] / q.heads});
  std::swap(out.dims[1], out.dims[2]);
  s.set_data(0, s.reshaped(out, s.output_shape()));
}

void product(ScriptImport& s, const TracedValue& a, const TracedValue& b, const char* mask = "none") {
  if (a.kind == Kind::kScores && a.scores->softmax && b.kind == Kind::kData) {
    const Scores& scores = *a.scores;
    return attention(s, s.data(scores.left), s.data(scores.right), true, s.data(b),
                     {scores.mask, scores.dropout});
  }
  Scores scores;
  scores.left = a;
  scores.right = b;
  for (TracedValue* side : {&scores.left, &scores.right}) {
    if (std::exchange(side->scaled, false)) scores.scaled = true;
    if (side->scores) scores.depth = std::max(scores.depth, side->scores->depth + 1);
  }
  if (scores.depth > kDeepestProduct) throw Unsupported("multiplies products of too many products");
  scores.mask = mask;
  scores.name = s.node_name(Op::kMatmul);
  TracedValue result;
  result.kind = Kind::kScores;
  result.scores = std::make_shared<Scores>(std::move(scores));
  s.set(0, std::move(result));
}

void matmul(ScriptImport& s) {
  const TracedValue& a = s.tensor("self");
  const TracedValue& b = s.tensor(s.has("other") ? "other" : "mat2");
  if (!is_weight(b)) {
    if (is_weight(a)) throw Unsupported("multiplies weights with data");
    return product(s, a, b);
  }
  if (b.shape.size() != 2) throw Unsupported("has weights that are no matrix");
  const Straight data = s.straight(a);
  const int last = ScriptImport::axis(data, -1);
  if (last != s.draft.shape(data.view.node).rank() - 1)
    throw Unsupported("reads features that do not come last");
  Attrs attrs = {{"out_features", b.shape[1]}, {"bias", false}};
  if (!s.first_use(b.name)) attrs["tied"] = true;
  s.set_data(0, s.derived(Op::kLinear, data, std::move(attrs), {last}));
}

// What is added to the product is a mask.
void baddbmm(ScriptImport& s) { product(s, s.tensor("batch1"), s.tensor("batch2"), "additive"); }

void softmax(ScriptImport& s, Op op) {
  TracedValue in = s.tensor("self");
  const auto rank = static_cast<std::int64_t>(in.shape.size());
  const std::int64_t dim = s.integer("dim", -1);
  if (op == Op::kSoftmax && in.kind == Kind::kScores && !in.scores->softmax &&
      (dim == -1 || dim == rank - 1)) {
    Scores scores = *in.scores;
    scores.softmax = true;
    in.scores = std::make_shared<Scores>(std::move(scores));
    return s.set(0, in);
  }
  const Straight data = s.straight(in);
  s.set_data(0, s.derived(op, data, {{"axis", std::int64_t{ScriptImport::axis(data, dim)}}}, {}));
}

void fused_attention(ScriptImport& s) {
  Core core;
  if (s.has("attn_mask")) core.mask = "additive";
  if (s.flag("is_causal", false)) core.mask = "causal";
  core.dropout = s.number("dropout_p", 0);
  attention(s, s.data(s.tensor("query")), s.data(s.tensor("key")), false, s.data(s.tensor("value")), core);
}

}  // namespace

View spelled_out(ScriptImport& s, const Scores& scores) {
  const Straight a = s.straight(scores.left), b = s.straight(scores.right);
  if (a.axes != b.axes || s.draft.shape(a.view.node).rank() != s.draft.shape(b.view.node).rank())
    throw Unsupported("multiplies tensors of different layouts");
  int node = s.draft.add(Op::kMatmul, {a.view.node, b.view.node}, {}, scores.name);
  Arrangement layout = s.draft.layout(a.view.node);
  layout.back() = s.draft.layout(b.view.node).back();
  s.draft.set_layout(node, std::move(layout));
  auto then = [&](Op op, Attrs attrs) { node = s.draft.add_like(op, node, std::move(attrs), scores.name); };
  if (scores.scaled || scores.mask != "none") then(Op::kScale, {});
  if (scores.softmax) then(Op::kSoftmax, {});
  if (scores.dropout > 0) then(Op::kDropout, {{"p", scores.dropout}});
  View out{node, a.view.dims};
  out.dims.back() = b.view.dims.back();
  return out;
}

void add_attention_steps(ScriptSteps& steps) {
  for (const char* name : {"matmul", "mm", "bmm"}) steps[name] = matmul;
  steps["baddbmm"] = baddbmm;
  for (const char* name : {"softmax", "_softmax"})
    steps[name] = [](ScriptImport& s) { softmax(s, Op::kSoftmax); };
  for (const char* name : {"log_softmax", "_log_softmax"})
    steps[name] = [](ScriptImport& s) { softmax(s, Op::kLogSoftmax); };
  steps["scaled_dot_product_attention"] = fused_attention;
}

}  // namespace ampere::script

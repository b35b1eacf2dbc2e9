// Activations, and sums and products of values with numbers, trained tensors and one another.
#include <algorithm>
#include <map>

#include "import/onnx/importer.h"
#include "import/onnx/sizes.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;
using Kind = Value::Kind;
using onnx::ElementType;

void plain(Importer& im, const onnx::Node& node, Op op, Attrs attrs = {}) {
  const View x = im.data(node, 0);
  im.put(node, {im.draft().add_like(op, x.node, std::move(attrs), im.name_for(node)), x.dims});
}

template <Op op>
void activation(Importer& im, const onnx::Node& node) {
  plain(im, node, op);
}

void leaky_relu(Importer& im, const onnx::Node& node) {
  const double slope = onnx::real_attr(node, "alpha", 0.01);
  plain(im, node, Op::kLeakyRelu, {{"slope", std::clamp(slope, 0.0, 0.999)}});
}

void gelu(Importer& im, const onnx::Node& node) {
  plain(im, node, Op::kGelu,
        {{"approximate",
          std::string(onnx::text_attr(node, "approximate", "none") == "tanh" ? "tanh" : "none")}});
}

bool multiplies(const std::string& op) { return op == "Mul" || op == "Div"; }

// The shape of a trained tensor against the dimensions of a node that holds the view in canonical form: 0
// where they agree, 1 where it is the same all along.
Ints learned_against(const View& view, const Ints& dims) {
  const std::size_t rank = view.dims.size();
  if (dims.size() > rank) throw Unsupported("a trained tensor of more dimensions than what it goes with");
  Ints out;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t skipped = rank - dims.size();
    const std::int64_t theirs = i < skipped ? 1 : dims[i - skipped];
    bool batch = false, others = false;
    for (const Atom& a : view.dims[i]) (a.id == kBatchAtom ? batch : others) = true;
    if (batch && others && theirs != 1) throw Unsupported("a trained tensor along the batch");
    if (batch && !others) continue;
    const std::int64_t ours = size_of(view.dims[i]);
    if (theirs != 1 && theirs != ours) throw Unsupported("a trained tensor that makes its input larger");
    out.push_back(theirs == ours && ours > 1 ? 0 : 1);
  }
  const auto first = std::find(out.begin(), out.end(), 0);
  out.erase(out.begin(), first == out.end() ? out.end() - 1 : first);
  return out;
}

// The bias of a linear layer, or the weights of a norm, that the file keeps apart from it.
bool belongs_to_layer(Importer& im, const onnx::Node& node, const View& x, const std::string& name,
                      const onnx::Constant& weight) {
  NetworkDraft& draft = im.draft();
  if (im.uses(name) != 1 || weight.dims.empty()) return false;
  const Node& layer = draft.node(x.node);
  const bool adds = node.op == "Add";
  if (layer.op == Op::kLinear && adds) {
    if (weight.elements() != layer.integer("out_features") || weight.dims.back() != weight.elements())
      return false;
    if (std::get<bool>(draft.get(x.node, "bias")) || !draft.same(draft.layout(x.node).back(), x.dims.back()))
      return false;
    draft.set(x.node, "bias", true);
    return true;
  }
  if (layer.op != Op::kLayerNorm && layer.op != Op::kGroupNorm) return false;
  const Tensor& shape = draft.shape(x.node);
  const std::int64_t width = layer.op == Op::kLayerNorm ? shape.dims.back() : shape.dims[1];
  if (weight.elements() != width) return false;
  const bool affine = std::get<bool>(draft.get(x.node, "affine"));
  if (node.op == "Mul" && !affine) {
    // Only with a sum behind it: a norm without a bias has a product alone.
    const onnx::Node* next = im.only_reader(node.outputs[0]);
    if (!next || next->op != "Add") return false;
    draft.set(x.node, "affine", true);
    im.half_done.insert(x.node);
    return true;
  }
  return adds && im.half_done.erase(x.node) > 0;
}

void with_constant(Importer& im, const onnx::Node& node, std::size_t data_at, std::size_t constant_at) {
  const Value& c = im.input(node, constant_at);
  Value v = im.input(node, data_at);
  const bool number = c.constant.elements() == 1;
  if (number && multiplies(node.op) && v.kind == Kind::kData && data_at == 0) {
    v.scaled = true;  // mostly the factor of attention, which is part of it
    im.put(node, std::move(v));
    return;
  }
  const View x = im.data(v, im.name_for(node));
  if (number || !c.learned) {
    const auto dims = onnx::broadcast_dims(x.sizes(), c.constant.dims);
    if (!dims || *dims != x.sizes()) throw Unsupported("a constant that makes its input larger");
    im.put(node, one_pass(im, x, im.name_for(node)));
    return;
  }
  if (belongs_to_layer(im, node, x, node.inputs[data_at], c.constant)) {
    im.put(node, x);
    return;
  }
  NetworkDraft& draft = im.draft();
  const std::string name = im.name_for(node, c.source);
  const Ints shape = learned_against(x, c.constant.dims);
  const int in = draft.arrange(x.node, draft.canonical(x), name);
  Attrs attrs = {{"shape", shape}};
  if (!multiplies(node.op) && c.rows > 0 && draft.shape(in).rank() == 3 && shape.size() == 2)
    attrs["rows"] = c.rows;
  const Op op = multiplies(node.op) ? Op::kLearnedMul : Op::kLearnedAdd;
  im.put(node, {draft.add_like(op, in, std::move(attrs), name), x.dims});
}

std::size_t batch_place(const View& view) {
  for (std::size_t i = 0; i < view.dims.size(); ++i) {
    for (const Atom& a : view.dims[i]) {
      if (a.id == kBatchAtom) return i;
    }
  }
  throw Unsupported("a value without the batch");
}

void join(Importer& im, const onnx::Node& node, const std::vector<View>& operands, Op op) {
  NetworkDraft& draft = im.draft();
  const std::string name = im.name_for(node);
  std::size_t rank = 0;
  for (const View& v : operands) rank = std::max(rank, v.dims.size());
  std::vector<int> inputs;
  std::vector<Arrangement> forms;
  View out;
  for (View v : operands) {
    v.dims.insert(v.dims.begin(), rank - v.dims.size(), Atoms{});
    if (!inputs.empty() && batch_place(v) != batch_place(out))
      throw Unsupported("values with the batch at different places");
    forms.push_back(draft.canonical(v));
    inputs.push_back(draft.arrange(v.node, forms.back(), name));
    if (out.dims.empty()) out = v;
    for (std::size_t i = 0; i < rank; ++i) {
      if (size_of(v.dims[i]) > size_of(out.dims[i])) out.dims[i] = v.dims[i];
    }
    if (forms.back().size() != forms[0].size()) throw Unsupported("values with the batch folded differently");
  }
  const int n = draft.add(op, inputs, {}, name);
  Arrangement layout = forms[0];
  for (const Arrangement& form : forms) {
    for (std::size_t i = 0; i < layout.size(); ++i) {
      if (size_of(form[i]) > size_of(layout[i])) layout[i] = form[i];
    }
  }
  draft.set_layout(n, layout);
  out.node = n;
  im.put(node, std::move(out));
}

// Scores that are scaled or masked stay scores.
bool changes_scores(Importer& im, const onnx::Node& node) {
  for (std::size_t i = 0; i < 2; ++i) {
    const Value& v = im.input(node, i);
    const Value& other = im.input(node, 1 - i);
    if (v.kind != Kind::kScores || v.scores->softmax) continue;
    if (other.kind != Kind::kConstant && other.kind != Kind::kSide) continue;
    Value out = v;
    out.scores = std::make_shared<Scores>(*v.scores);
    const bool number = other.kind == Kind::kConstant && other.constant.elements() == 1;
    const bool trained = node.op == "Add" && add_trained_bias(im, other, *out.scores);
    if (!trained && (!number || !multiplies(node.op))) out.scores->masked = true;
    im.put(node, std::move(out));
    return true;
  }
  return false;
}

void binary(Importer& im, const onnx::Node& node) {
  const Value &a = im.input(node, 0), &b = im.input(node, 1);
  if (changes_scores(im, node)) return;
  for (std::size_t i = 0; i < 2; ++i) {
    const Value& side = im.input(node, 1 - i);
    const Value& v = im.input(node, i);
    if (v.kind != Kind::kData && v.kind != Kind::kScores) continue;
    if (side.kind == Kind::kConstant) {
      with_constant(im, node, i, 1 - i);
      return;
    }
    if (side.kind != Kind::kSide) continue;
    const View x = im.data(v, im.name_for(node));
    const std::int64_t count = onnx::Constant{side.dims, ElementType::kFloat, {}}.elements();
    if (side.random && multiplies(node.op)) {
      const double p = std::clamp(1 - side.keep, 0.0, 0.999);
      const Op op = count == im.draft().batch() ? Op::kDropPath : Op::kDropout;
      ++im.seen.dropouts;
      im.put(node, {im.draft().add_like(op, x.node, {{"p", p}}, im.name_for(node)), x.dims});
    } else {
      im.put(node, one_pass(im, x, im.name_for(node)));
    }
    return;
  }
  const std::string name = im.name_for(node);
  join(im, node, {im.data(a, name), im.data(b, name)}, multiplies(node.op) ? Op::kMul : Op::kAdd);
}

void sum(Importer& im, const onnx::Node& node) {
  std::vector<View> all;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) all.push_back(im.data(node, i));
  if (all.size() == 1)
    im.put(node, all[0]);
  else
    join(im, node, all, Op::kAdd);
}

// Scores or other values where a mask allows, a constant elsewhere.
void where(Importer& im, const onnx::Node& node) {
  for (std::size_t i = 1; i < 3; ++i) {
    const Value& v = im.input(node, i);
    const Value& other = im.input(node, 3 - i);
    if (other.kind != Kind::kConstant && other.kind != Kind::kSide) continue;
    // PyTorch's exporters guard a softmax against rows that are all masked; its own kernels need no such
    // guard.
    if (v.kind == Kind::kScores && v.scores->softmax && im.input(node, 0).guards == v.scores) {
      im.put(node, Value(v));
      return;
    }
    if (v.kind == Kind::kScores && !v.scores->softmax) {
      Value out = v;
      out.scores = std::make_shared<Scores>(*v.scores);
      out.scores->masked = true;
      im.put(node, std::move(out));
      return;
    }
    if (v.kind == Kind::kData) {
      im.put(node, one_pass(im, im.data(v, im.name_for(node)), im.name_for(node)));
      return;
    }
  }
  throw Unsupported("a choice between two computed values");
}

void is_nan(Importer& im, const onnx::Node& node) {
  const Value& v = im.input(node, 0);
  Value out;
  out.kind = Kind::kSide;
  out.type = ElementType::kBool;
  out.dims = im.sizes(v);
  out.guards = v.scores;
  im.put(node, std::move(out));
}

void random_like(Importer& im, const onnx::Node& node) {
  Value v;
  v.kind = Kind::kSide;
  v.random = true;
  v.dims = im.sizes(im.input(node, 0));
  im.put(node, std::move(v));
}

}  // namespace

View one_pass(Importer& im, const View& view, const std::string& name) {
  return {im.draft().add_like(Op::kScale, view.node, {}, name), view.dims};
}

void add_elementwise_ops(Handlers& handlers) {
  handlers["Relu"] = activation<Op::kRelu>;
  handlers["Elu"] = activation<Op::kElu>;
  handlers["Selu"] = activation<Op::kElu>;
  handlers["Celu"] = activation<Op::kElu>;
  handlers["Clip"] = activation<Op::kRelu6>;
  handlers["Sigmoid"] = activation<Op::kSigmoid>;
  handlers["Tanh"] = activation<Op::kTanh>;
  handlers["Silu"] = activation<Op::kSilu>;
  handlers["Swish"] = activation<Op::kSilu>;
  handlers["HardSwish"] = activation<Op::kHardswish>;
  handlers["HardSigmoid"] = activation<Op::kHardsigmoid>;
  handlers["Neg"] = activation<Op::kScale>;
  handlers["LeakyRelu"] = leaky_relu;
  handlers["Gelu"] = gelu;
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) handlers[op] = binary;
  handlers["Sum"] = sum;
  handlers["Where"] = where;
  handlers["IsNaN"] = is_nan;
  for (const char* op : {"RandomUniformLike", "RandomNormalLike", "Bernoulli"}) handlers[op] = random_like;
}

}  // namespace ampere

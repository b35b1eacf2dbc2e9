// Ops without weights that compute: activations, arithmetic, pools.
#include <algorithm>
#include <set>

#include "import/script/script_import.h"

namespace ampere::script {
namespace {

using Kind = TracedValue::Kind;

const TracedValue& only_input(const ScriptImport& s) { return s.tensor(s.has("self") ? "self" : "input"); }

ScriptStep activation(Op op) {
  return [op](ScriptImport& s) { s.elementwise(op, only_input(s)); };
}

void leaky_relu(ScriptImport& s) {
  const double slope = s.number("negative_slope", 0.01);
  s.elementwise(Op::kLeakyRelu, s.tensor("self"), {{"slope", std::clamp(slope, 0.0, 0.99)}});
}

void gelu(ScriptImport& s) {
  const bool tanh = s.has("approximate") && s.op().args.at("approximate") == "tanh";
  s.elementwise(Op::kGelu, s.tensor("self"), {{"approximate", std::string(tanh ? "tanh" : "none")}});
}

void dropout(ScriptImport& s) {
  TracedValue in = only_input(s);
  const double p = s.number("p", 0.5);
  if (!s.flag("train", s.flag("training", true))) s.traced_for_inference();
  if (p == 0) return s.set(0, in);
  if (in.kind == Kind::kScores && in.scores->softmax) {
    Scores scores = *in.scores;
    scores.dropout = p;
    in.scores = std::make_shared<Scores>(std::move(scores));
    return s.set(0, in);
  }
  s.elementwise(Op::kDropout, in, {{"p", p}});
}

// A trained tensor beside data: its dimensions, in the order of the node's axes behind the batch.
Dims learned_shape_of(ScriptImport& s, const Straight& data, const TracedValue& parameter) {
  Dims given = parameter.shape;
  if (given.size() > data.axes.size())
    throw Unsupported("a trained tensor has more dimensions than the data");
  given.insert(given.begin(), data.axes.size() - given.size(), 1);
  const Dims& dims = s.draft.shape(data.view.node).dims;
  Dims shape(dims.size() - 1, 1);
  for (std::size_t dim = 0; dim < given.size(); ++dim) {
    const auto axis = static_cast<std::size_t>(data.axes[dim]);
    if (given[dim] == 1 || axis == 0) continue;  // in the batch's place: repeated for every sample
    shape[axis - 1] = given[dim] == dims[axis] ? 0 : given[dim];  // 0: as large as the data
  }
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

void with_parameter(ScriptImport& s, const TracedValue& value, const TracedValue& parameter, bool product) {
  const Straight data = s.straight(value);
  const int before = data.view.node;
  const Tensor& shape = s.draft.shape(before);
  const bool biasless =
      s.draft.node(before).op == Op::kLinear && !std::get<bool>(s.draft.get(before, "bias"));
  if (!product && biasless && value.read_once && parameter.shape == Dims{shape.dims.back()}) {
    s.draft.set(before, "bias", true);
    s.first_use(parameter.name);
    return s.set_data(0, data.view);
  }
  if (!s.first_use(parameter.name)) s.note("a trained tensor is used in several places and counted for each");
  Attrs attrs = {{"shape", learned_shape_of(s, data, parameter)}};
  if (!product && parameter.rows > 0 && shape.rank() == 3) attrs["rows"] = parameter.rows;
  s.set_data(0, s.derived(product ? Op::kLearnedMul : Op::kLearnedAdd, data, std::move(attrs), {}));
}

void two_tensors(ScriptImport& s, const TracedValue& a, const TracedValue& b, bool product) {
  // Joins repeat what is expanded themselves.
  auto view_of = [&](const TracedValue& v) { return v.expanded && !v.scaled ? v.view : s.data(v); };
  View x = view_of(a), y = view_of(b);
  View& low = x.dims.size() < y.dims.size() ? x : y;
  low.dims.insert(low.dims.begin(), std::max(x.dims.size(), y.dims.size()) - low.dims.size(), Atoms{});
  const Straight p = s.straightened(x), q = s.straightened(y);
  if (p.axes != q.axes) throw Unsupported("joins tensors of different layouts");
  const int node = s.add(product ? Op::kMul : Op::kAdd, {p.view.node, q.view.node}, {});
  Arrangement layout = s.draft.layout(p.view.node);
  const Arrangement& other = s.draft.layout(q.view.node);
  if (layout.size() != other.size()) throw Unsupported("joins tensors of different layouts");
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (size_of(layout[i]) < size_of(other[i])) layout[i] = other[i];
  }
  s.draft.set_layout(node, std::move(layout));
  View out{node, x.dims};
  for (std::size_t i = 0; i < out.dims.size(); ++i) {
    if (size_of(x.dims[i]) < size_of(y.dims[i])) out.dims[i] = y.dims[i];
  }
  s.set_data(0, std::move(out));
}

// A mask or a number beside data.
void with_constant(ScriptImport& s, TracedValue data, const TracedValue* constant, bool product) {
  if (data.kind == Kind::kScores && !data.scores->softmax) {
    Scores scores = *data.scores;
    const bool number = !constant || constant->shape.empty();
    if (product && number) {
      scores.scaled = true;
    } else {
      scores.mask = "additive";
    }
    data.scores = std::make_shared<Scores>(std::move(scores));
    return s.set(0, data);
  }
  if (data.kind == Kind::kData && product && s.output_read_once() && (!constant || constant->shape.empty())) {
    data.scaled = true;
    return s.set(0, data);
  }
  // Noise of one number for each sample: whole branches are dropped.
  const bool per_sample =
      constant && constant->random && !constant->shape.empty() &&
      std::all_of(constant->shape.begin() + 1, constant->shape.end(), [](std::int64_t d) { return d == 1; });
  s.elementwise(product && per_sample ? Op::kDropPath : Op::kScale, data);
}

void arithmetic(ScriptImport& s, bool product) {
  const TracedValue& a = s.tensor("self");
  const bool second = s.has("other") && !tensors_of(s.op().args.at("other")).empty();
  if (!second) return with_constant(s, a, nullptr, product);
  const TracedValue& b = s.tensor("other");
  auto live = [](const TracedValue& v) { return v.kind != Kind::kParameter && v.kind != Kind::kConstant; };
  if (live(a) && live(b)) return two_tensors(s, a, b, product);
  const TracedValue& data = live(a) ? a : b;
  const TracedValue& other = live(a) ? b : a;
  if (other.kind == Kind::kParameter && data.kind == Kind::kScores) {
    s.note("a trained bias of attention scores (" + other.name + ") is left out");
    return with_constant(s, data, &other, product);
  }
  if (other.kind == Kind::kParameter) return with_parameter(s, data, other, product);
  with_constant(s, data, &other, product);
}

// One number in, one number out: costs what scaling does.
void unary(ScriptImport& s) { s.elementwise(Op::kScale, only_input(s)); }

void masked(ScriptImport& s) {
  for (const char* name : {"self", "other", "input"}) {
    if (!s.has(name) || tensors_of(s.op().args.at(name)).empty()) continue;
    const TracedValue& v = s.tensor(name);
    if (v.kind == Kind::kParameter || v.kind == Kind::kConstant || v.shape != s.output_shape()) continue;
    return with_constant(s, v, nullptr, false);
  }
  throw Unsupported("masks what is no data");
}

Dims pool_list(ScriptImport& s, const char* name, const Dims& fallback, std::size_t count) {
  Dims values = s.integers(name, fallback);
  if (values.size() == 1) values.resize(count, values[0]);
  return values;
}

void pool(ScriptImport& s, Op op) {
  const TracedValue& in = s.tensor("self");
  if (in.shape.size() != 3 && in.shape.size() != 4) throw Unsupported("pools over 3 dimensions");
  const std::size_t spatial = in.shape.size() - 2;
  for (std::int64_t d : s.integers("dilation", {1})) {
    if (d != 1) throw Unsupported("is dilated");
  }
  const Dims kernel = pool_list(s, "kernel_size", {1}, spatial);
  Dims stride = pool_list(s, "stride", kernel, spatial);
  if (stride.empty()) stride = kernel;
  Attrs attrs = {{"kernel", shortest(kernel)},
                 {"padding", shortest(pool_list(s, "padding", {0}, spatial))},
                 {"ceil_mode", s.flag("ceil_mode", false)}};
  if (stride != kernel) attrs["stride"] = shortest(stride);
  s.set_data(0, s.draft.view_of(s.add(op, {s.plain(in)}, std::move(attrs))));
}

void adaptive_pool(ScriptImport& s) {
  const TracedValue& in = s.tensor("self");
  const Dims& out = s.output_shape();
  if ((in.shape.size() != 3 && in.shape.size() != 4) || out.size() != in.shape.size())
    throw Unsupported("pools over 3 dimensions");
  const Dims size(out.begin() + 2, out.end());
  s.set_data(0, s.draft.view_of(s.add(Op::kAdaptiveAvgPool, {s.plain(in)}, {{"output", shortest(size)}})));
}

void mean(ScriptImport& s) {
  const Straight data = s.straight(s.tensor("self"));
  const bool keep = s.flag("keepdim", false);
  Dims axes;
  std::set<std::size_t> gone;
  for (std::int64_t dim : s.integers("dim", {})) {
    axes.push_back(ScriptImport::axis(data, dim));
    gone.insert(normal_dim(dim, data.axes.size()));
  }
  if (axes.empty()) throw Unsupported("averages over the batch");
  std::sort(axes.begin(), axes.end());
  const Arrangement before = s.draft.layout(data.view.node);
  // Over height and width it is a pool, whichever way it was written.
  const bool pools = before.size() == 4 && axes == Dims{2, 3};
  const int node = pools ? s.add(Op::kAdaptiveAvgPool, {data.view.node}, {{"output", std::int64_t{1}}})
                         : s.add(Op::kMean, {data.view.node}, {{"axes", axes}, {"keepdim", keep}});
  Arrangement layout;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    if (!reduced || keep || pools) layout.push_back(reduced ? Atoms{} : before[i]);
  }
  s.draft.set_layout(node, std::move(layout));
  View out{node, {}};
  for (std::size_t dim = 0; dim < data.view.dims.size(); ++dim) {
    if (!gone.count(dim) || keep) out.dims.push_back(gone.count(dim) ? Atoms{} : data.view.dims[dim]);
  }
  s.set_data(0, std::move(out));
}

void upsample(ScriptImport& s, const char* mode) {
  const TracedValue& in = s.tensor(s.has("self") ? "self" : "input");
  const Dims& out = s.output_shape();
  const auto whole = [&](std::size_t dim) { return in.shape[dim] > 0 && out[dim] % in.shape[dim] == 0; };
  if (in.shape.size() != 4 || out.size() != 4 || !whole(2) || !whole(3))
    throw Unsupported("resizes by what is no whole number");
  const Dims factor = {out[2] / in.shape[2], out[3] / in.shape[3]};
  s.set_data(0, s.draft.view_of(s.add(Op::kUpsample, {s.plain(in)},
                                      {{"factor", shortest(factor)}, {"mode", std::string(mode)}})));
}

void channel_shuffle(ScriptImport& s) {
  const int in = s.plain(s.tensor("self"));
  s.set_data(0, s.draft.view_of(s.add(Op::kChannelShuffle, {in}, {{"groups", s.integer("groups", 1)}})));
}

}  // namespace

void add_pointwise_steps(ScriptSteps& steps) {
  const std::pair<const char*, Op> activations[] = {{"relu", Op::kRelu},
                                                    {"relu6", Op::kRelu6},
                                                    {"hardtanh", Op::kRelu6},
                                                    {"clamp", Op::kRelu6},
                                                    {"clamp_min", Op::kRelu},
                                                    {"elu", Op::kElu},
                                                    {"selu", Op::kElu},
                                                    {"celu", Op::kElu},
                                                    {"silu", Op::kSilu},
                                                    {"hardswish", Op::kHardswish},
                                                    {"hardsigmoid", Op::kHardsigmoid},
                                                    {"sigmoid", Op::kSigmoid},
                                                    {"tanh", Op::kTanh}};
  for (const auto& [name, op] : activations) steps[name] = activation(op);
  steps["leaky_relu"] = leaky_relu;
  steps["gelu"] = gelu;
  for (const char* name : {"dropout", "feature_dropout", "native_dropout", "alpha_dropout", "dropout2d"})
    steps[name] = dropout;
  for (const char* name : {"add", "sub", "rsub"}) steps[name] = [](ScriptImport& s) { arithmetic(s, false); };
  for (const char* name : {"mul", "div", "floor_divide"})
    steps[name] = [](ScriptImport& s) { arithmetic(s, true); };
  for (const char* name : {"exp", "log", "sqrt", "rsqrt", "pow", "square", "abs", "neg", "sin", "cos", "erf",
                           "reciprocal", "softplus", "mish", "log_sigmoid", "softsign"}) {
    steps[name] = unary;
  }
  for (const char* name : {"masked_fill", "where"}) steps[name] = masked;
  for (const char* name : {"max_pool1d", "max_pool2d", "max_pool2d_with_indices"}) {
    steps[name] = [](ScriptImport& s) { pool(s, Op::kMaxPool); };
  }
  for (const char* name : {"avg_pool1d", "avg_pool2d"})
    steps[name] = [](ScriptImport& s) { pool(s, Op::kAvgPool); };
  for (const char* name : {"adaptive_avg_pool1d", "adaptive_avg_pool2d"}) steps[name] = adaptive_pool;
  steps["mean"] = mean;
  steps["sum"] = mean;  // without the division
  for (const char* name : {"upsample_nearest2d", "upsample_bilinear2d"}) {
    const char* mode = std::string(name).find("nearest") != std::string::npos ? "nearest" : "bilinear";
    steps[name] = [mode](ScriptImport& s) { upsample(s, mode); };
  }
  for (const char* name : {"channel_shuffle", "native_channel_shuffle"}) steps[name] = channel_shuffle;
}

}  // namespace ampere::script

// Ops with weights: convolutions, linear layers, embeddings, recurrent layers, norms.
#include <algorithm>

#include "import/script/script_import.h"

namespace ampere::script {
namespace {

using Kind = TracedValue::Kind;

// Weights may also be constants: freezing a module makes them so. They are trained all the same.
const TracedValue& weight(ScriptImport& s, const char* name) {
  const TracedValue& w = s.tensor(name);
  if (w.kind != Kind::kParameter && w.kind != Kind::kConstant)
    throw Unsupported(std::string("computes its ") + name + " from the input");
  if (w.kind == Kind::kConstant)
    s.note(
        "weights stand in the file as constants, as freezing a module makes them: they are taken as trained, "
        "but "
        "batch norms may be gone; save the module before it is frozen");
  return w;
}

Dims stretched(Dims values, std::size_t count) {
  if (values.size() == 1) values.resize(count, values[0]);
  return values;
}

Dims padding_of(ScriptImport& s, const Dims& kernel, const Dims& dilation) {
  const Json& given = s.op().args.contains("padding") ? s.op().args.at("padding") : Json();
  if (!given.is_string()) return stretched(s.integers("padding", {0}), kernel.size());
  Dims padding(kernel.size(), 0);
  if (given == "valid") return padding;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t both = dilation[i] * (kernel[i] - 1);
    if (both % 2 != 0) throw Unsupported("pads its two sides differently");
    padding[i] = both / 2;
  }
  return padding;
}

void convolution(ScriptImport& s) {
  const TracedValue& in = s.tensor("input");
  const TracedValue& w = weight(s, "weight");
  const std::size_t spatial = w.shape.size() - 2;
  const bool transposed = s.flag("transposed", s.op().op.find("conv_transpose") != std::string::npos);
  if (spatial < 1 || spatial > 2 || (transposed && spatial != 2) || in.shape.size() != spatial + 2)
    throw Unsupported("convolves over " + std::to_string(spatial) + " dimensions");
  const Dims kernel(w.shape.begin() + 2, w.shape.end());
  const Dims dilation = stretched(s.integers("dilation", {1}), spatial);
  if (dilation.size() != spatial ||
      std::any_of(dilation.begin(), dilation.end(), [](std::int64_t d) { return d < 1 || d > kMaxWidth; }))
    throw Unsupported("is dilated in another way");
  const std::int64_t groups = s.integer("groups", 1);
  Attrs attrs = {{"out_channels", size_at(s.output_shape(), 1)},
                 {"kernel", shortest(kernel)},
                 {"stride", shortest(s.integers("stride", {1}))},
                 {"padding", shortest(padding_of(s, kernel, dilation))},
                 {"groups", groups},
                 {"bias", s.has("bias")}};
  if (transposed) {
    if (std::any_of(dilation.begin(), dilation.end(), [](std::int64_t d) { return d != 1; }))
      throw Unsupported("is dilated");
    attrs["output_padding"] = shortest(s.integers("output_padding", {0}));
  } else {
    attrs["dilation"] = shortest(dilation);
    if (groups > 1 && groups == in.shape[1]) attrs["groups"] = std::int64_t{0};  // depthwise, however wide
  }
  if (!s.first_use(w.name))
    s.note("some convolutions share their weights, which the network counts for each");
  const Op op = transposed ? Op::kConvTranspose2d : spatial == 2 ? Op::kConv2d : Op::kConv1d;
  s.set_data(0, s.draft.view_of(s.add(op, {s.plain(in)}, std::move(attrs))));
}

void linear_layer(ScriptImport& s, const TracedValue& in, const TracedValue& w, std::int64_t out, bool bias) {
  const Straight data = s.straight(in);
  const int last = ScriptImport::axis(data, -1);
  if (last != s.draft.shape(data.view.node).rank() - 1)
    throw Unsupported("reads features that do not come last");
  Attrs attrs = {{"out_features", out}, {"bias", bias}};
  if (!s.first_use(w.name)) attrs["tied"] = true;
  s.set_data(0, s.derived(Op::kLinear, data, std::move(attrs), {last}));
}

void linear(ScriptImport& s) {
  const TracedValue& w = weight(s, "weight");
  if (w.shape.size() != 2) throw Unsupported("has weights that are no matrix");
  linear_layer(s, s.tensor("input"), w, w.shape[0], s.has("bias"));
}

void addmm(ScriptImport& s) {
  const TracedValue& w = weight(s, "mat2");
  linear_layer(s, s.tensor("mat1"), w, size_at(w.shape, 1), weight(s, "self").shape.size() == 1);
}

// The input that whole numbers come from learns how many of them there are.
void remember_vocabulary(ScriptImport& s, int node, std::int64_t rows) {
  while (!s.draft.node(node).inputs.empty()) node = s.draft.node(node).inputs[0];
  if (s.draft.node(node).attrs.count("classes") == 0) throw Unsupported("looks up what are no whole numbers");
  const std::int64_t known = std::get<std::int64_t>(s.draft.get(node, "classes"));
  s.draft.set(node, "classes", std::min(known, rows));
}

void embedding(ScriptImport& s) {
  const TracedValue& w = weight(s, "weight");
  const TracedValue& in = s.tensor("indices");
  if (in.shape.size() != 2 || w.shape.size() != 2) throw Unsupported("looks up what is no sequence");
  const Straight data = s.straight(in);
  remember_vocabulary(s, data.view.node, w.shape[0]);
  if (!s.first_use(w.name)) s.note("some embeddings share their table, which the network counts for each");
  const int node = s.add(Op::kEmbedding, {data.view.node}, {{"vocabulary", w.shape[0]}, {"dim", w.shape[1]}});
  Arrangement layout = s.draft.layout(data.view.node);
  layout.push_back(s.draft.layout(node).back());
  View out{node, data.view.dims};
  out.dims.push_back(layout.back());
  s.draft.set_layout(node, std::move(layout));
  s.set_data(0, std::move(out));
}

void recurrent(ScriptImport& s, Op op) {
  if (!s.has("input") || !s.has("has_biases")) throw Unsupported("reads packed sequences");
  const std::vector<TracedValue> weights = s.tensors("params");
  if (weights.size() < 2 || weights[1].shape.size() != 2) throw Unsupported("has weights of another kind");
  const TracedValue& in = s.tensor("input");
  if (in.shape.size() != 3) throw Unsupported("reads a single sequence without a batch");
  const Straight data = s.straight(in);
  const std::vector<int> wanted =
      s.flag("batch_first", false) ? std::vector<int>{0, 1, 2} : std::vector<int>{1, 0, 2};
  if (data.axes != wanted || s.draft.shape(data.view.node).rank() != 3)
    throw Unsupported(
        "runs along the batch; for a network that reads the length first, say so: --input 35xNx200");
  const std::int64_t hidden = weights[1].shape[1];
  const std::int64_t layers = s.integer("num_layers", 1);
  const bool both = s.flag("bidirectional", false);
  const std::int64_t per_direction = s.flag("has_biases", true) ? 4 : 2;
  const std::int64_t per_layer = per_direction * (both ? 2 : 1);
  const auto given = static_cast<std::int64_t>(weights.size());
  if (given % per_layer != 0 || given / per_layer != layers) throw Unsupported("projects its states");
  if (s.number("dropout", 0) > 0 && layers > 1)
    s.note("dropout between the layers of a recurrent op is left out");
  const View out = s.derived(op, data,
                             {{"hidden_size", hidden},
                              {"num_layers", layers},
                              {"bidirectional", both},
                              {"bias", s.flag("has_biases", true)}},
                             {2});
  s.set_data(0, out);
  TracedValue state;
  state.kind = Kind::kState;
  state.view = s.draft.view_of(out.node);
  state.state_layers = static_cast<int>(layers);
  state.state_bidirectional = both;
  if (s.outputs() > 1) s.set(1, state);
  // The cell's state is as large as the hidden one, and made in the same step.
  if (s.outputs() > 2) s.set(2, state);
}

// Over (batch, channels, ...).
void norm(ScriptImport& s, Op op, Attrs attrs) {
  const int in = s.plain(s.tensor("input"));
  s.set_data(0, s.draft.view_of(s.draft.add_like(op, in, std::move(attrs), s.node_name(op))));
}

void batch_norm(ScriptImport& s) {
  const TracedValue& in = s.tensor("input");
  if (in.shape.size() < 2 || in.shape.size() > 4) throw Unsupported("normalises 3-dimensional maps");
  // A traced module keeps the mode it was traced in, whatever train() says.
  if (!s.flag("training", true)) s.traced_for_inference();
  norm(s, Op::kBatchNorm, {{"affine", s.has("weight")}});
}

void instance_norm(ScriptImport& s) {
  if (s.tensor("input").shape.size() < 3) throw Unsupported("normalises vectors");
  norm(s, Op::kGroupNorm, {{"groups", size_at(s.output_shape(), 1)}, {"affine", s.has("weight")}});
}

void group_norm(ScriptImport& s) {
  norm(s, Op::kGroupNorm, {{"groups", s.integer("num_groups", 1)}, {"affine", s.has("weight")}});
}

void layer_norm(ScriptImport& s) {
  const Straight data = s.straight(s.tensor("input"));
  const auto axes = static_cast<std::int64_t>(s.integers("normalized_shape", {}).size());
  for (std::int64_t i = 1; i <= axes; ++i) {
    if (ScriptImport::axis(data, -i) != s.draft.shape(data.view.node).rank() - i)
      throw Unsupported("normalises over the batch");
  }
  s.set_data(0, s.derived(Op::kLayerNorm, data, {{"axes", axes}, {"affine", s.has("weight")}}, {}));
}

}  // namespace

void add_weight_steps(ScriptSteps& steps) {
  for (const char* name : {"conv1d", "conv2d", "conv3d", "_convolution", "convolution", "conv_transpose2d",
                           "conv_transpose1d", "_convolution_mode"}) {
    steps[name] = convolution;
  }
  steps["linear"] = linear;
  steps["addmm"] = addmm;
  steps["embedding"] = embedding;
  steps["lstm"] = [](ScriptImport& s) { recurrent(s, Op::kLstm); };
  steps["gru"] = [](ScriptImport& s) { recurrent(s, Op::kGru); };
  for (const char* name : {"batch_norm", "native_batch_norm", "_native_batch_norm_legit"})
    steps[name] = batch_norm;
  steps["instance_norm"] = instance_norm;
  steps["group_norm"] = group_norm;
  for (const char* name : {"layer_norm", "native_layer_norm"}) steps[name] = layer_norm;
}

}  // namespace ampere::script

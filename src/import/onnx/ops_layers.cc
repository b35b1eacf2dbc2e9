// Layers with weights: convolutions, linear layers, embeddings, recurrent layers.
#include <algorithm>

#include "import/onnx/importer.h"
#include "import/onnx/sizes.h"
#include "import/onnx/windows.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;
using Kind = Value::Kind;
using onnx::int_attr;

// Batch norms that exporters folded into a convolution leave traces: the older exporter gives the new weights
// a number for a name, the newer one hands the batch norm's own output name ("getitem") on.
bool lost_batchnorm(const Importer& im, const onnx::Node& node) {
  if (node.inputs.size() > 1 && node.inputs[1].rfind("onnx::Conv_", 0) == 0) return true;
  return im.by_torch_export() && !node.outputs.empty() && node.outputs[0].rfind("getitem", 0) == 0;
}

// The bias that folding made, where the convolution had none of its own.
bool made_by_folding(const std::string& bias) {
  return bias.rfind("onnx::Conv_", 0) == 0 ||
         (bias.size() > 5 && bias.compare(bias.size() - 5, 5, "_bias") == 0);
}

// The value before a padding that is still to be done, and that padding.
View padded_input(Importer& im, const onnx::Node& node, Ints& pads) {
  Value v = im.input(node, 0);
  pads = std::move(v.pads);
  v.pads.clear();
  return im.data(v, im.name_for(node));
}

void conv(Importer& im, const onnx::Node& node) {
  Ints pads;
  const View x = padded_input(im, node, pads);
  const Ints weight = im.constant(node, 1).dims;
  if (weight.size() != 3 && weight.size() != 4)
    throw Unsupported("a convolution of other than 1 or 2 dimensions");
  const Windows w = windows_of(node, x.sizes(), {weight.begin() + 2, weight.end()}, pads);
  const std::string source = im.input(node, 1).source;
  const std::string name = im.name_for(node, source);
  const bool folded = lost_batchnorm(im, node);
  bool bias = im.has(node, 2);
  if (folded) {
    ++im.seen.batchnorms_folded;
    if (im.options().restore_batchnorm && bias) bias = !made_by_folding(node.inputs[2]);
  }
  int n = im.draft().add(weight.size() == 4 ? Op::kConv2d : Op::kConv1d, {im.as_is(x, name)},
                         {{"out_channels", weight[0]},
                          {"kernel", w.kernel},
                          {"stride", w.stride},
                          {"padding", w.padding},
                          {"dilation", w.dilation},
                          {"groups", int_attr(node, "group", 1)},
                          {"bias", bias}},
                         name);
  if (!bias && !folded) im.seen.bare.push_back(n);
  if (folded && im.options().restore_batchnorm) {
    n = im.draft().add_like(Op::kBatchNorm, n, {}, name + ".batch_norm");
    ++im.result().batchnorms_restored;
  }
  im.put(node, im.draft().view_of(n));
}

void conv_transpose(Importer& im, const onnx::Node& node) {
  const View x = im.data(node, 0);
  const Ints weight = im.constant(node, 1).dims;  // (in, out / groups, height, width)
  if (weight.size() != 4) throw Unsupported("a transposed convolution of other than 2 dimensions");
  if (onnx::ints_attr(node, "output_shape")) throw Unsupported("output_shape");
  const Windows w = windows_of(node, x.sizes(), {weight.begin() + 2, weight.end()}, {});
  if (w.dilation != Ints{1}) throw Unsupported("dilation");
  const std::int64_t groups = int_attr(node, "group", 1);
  if (groups < 1 || groups > kMaxWidth || weight[1] > kMaxWidth) throw Unsupported("groups out of range");
  const Ints* extra = onnx::ints_attr(node, "output_padding");
  const std::string name = im.name_for(node, im.input(node, 1).source);
  const int n = im.draft().add(Op::kConvTranspose2d, {im.as_is(x, name)},
                               {{"out_channels", weight[1] * groups},
                                {"kernel", w.kernel},
                                {"stride", w.stride},
                                {"padding", w.padding},
                                {"output_padding", extra ? *extra : Ints{0}},
                                {"groups", groups},
                                {"bias", im.has(node, 2)}},
                               name);
  im.put(node, im.draft().view_of(n));
}

void gemm(Importer& im, const onnx::Node& node) {
  if (int_attr(node, "transA", 0) != 0) throw Unsupported("a transposed input");
  const Ints weight = im.constant(node, 1).dims;
  if (weight.size() != 2) throw Unsupported("weights of other than 2 dimensions");
  const std::int64_t out = int_attr(node, "transB", 0) != 0 ? weight[0] : weight[1];
  const std::string& source = im.input(node, 1).source;
  const View x = im.data(node, 0);
  const bool bias = im.has(node, 2);
  const View y = linear(im, x, out, bias, im.name_for(node, source));
  if (!bias) im.seen.bare.push_back(y.node);
  im.put(node, y);
}

void embedding(Importer& im, const onnx::Node& node) {
  const onnx::Constant& table = im.constant(node, 0);
  if (table.dims.size() != 2 || int_attr(node, "axis", 0) != 0)
    throw Unsupported("a lookup in something other than a table of vectors");
  const std::string& source = im.input(node, 0).source;
  if (im.input(node, 1).kind == Kind::kSide) {
    // Positions that are counted: a row for each, as if they never changed.
    Value v = im.input(node, 0);
    v.constant = {im.sizes(im.input(node, 1)), v.type, std::nullopt};
    if (v.constant.dims.empty() || v.constant.dims[0] != im.draft().batch())
      throw Unsupported("a lookup at places that are computed");
    v.constant.dims[0] = 1;
    v.rows = table.dims[0];
    v.constant.dims.push_back(table.dims[1]);
    im.put(node, std::move(v));
    return;
  }
  const View x = im.data(node, 1);
  NetworkDraft& draft = im.draft();
  Arrangement wanted = draft.canonical(x);
  if (wanted.size() != 2) throw Unsupported("a lookup of other than one sequence per sample");
  const int ids = draft.arrange(x.node, wanted, "ids");
  // Numbers that are drawn at random must lie inside the smallest table they are looked up in.
  int origin = ids;
  while (!draft.node(origin).inputs.empty()) origin = draft.node(origin).inputs[0];
  if (draft.node(origin).op == Op::kInput) {
    const std::int64_t now = std::get<std::int64_t>(draft.get(origin, "classes"));
    const bool first = im.tables.empty() || now == 2;
    draft.set(origin, "classes", first ? table.dims[0] : std::min(now, table.dims[0]));
  }
  im.tables.insert(source);
  const int n = draft.add(Op::kEmbedding, {ids}, {{"vocabulary", table.dims[0]}, {"dim", table.dims[1]}},
                          im.name_for(node, source));
  Arrangement layout = draft.layout(ids);
  layout.push_back(draft.layout(n).back());
  draft.set_layout(n, layout);
  View y{n, x.dims};
  y.dims.push_back(layout.back());
  im.put(node, std::move(y));
}

void recurrent(Importer& im, const onnx::Node& node) {
  const bool batch_first = int_attr(node, "layout", 0) == 1;
  const View x = im.data(node, 0);
  if (x.dims.size() != 3) throw Unsupported("an input of other than 3 dimensions");
  const Ints recurrence = im.constant(node, 2).dims;
  if (recurrence.size() != 3) throw Unsupported("weights of other than 3 dimensions");
  NetworkDraft& draft = im.draft();
  const std::string name = im.name_for(node);
  const Atoms steps = batch_first ? x.dims[1] : x.dims[0];
  const int in = draft.arrange(x.node, {{{kBatchAtom, draft.batch()}}, steps, x.dims[2]}, name);
  const std::int64_t hidden = recurrence[2], directions = recurrence[0];
  if (directions != 1 && directions != 2) throw Unsupported("other than one or two directions");
  const int n = draft.add(
      node.op == "LSTM" ? Op::kLstm : Op::kGru, {in},
      {{"hidden_size", hidden}, {"bidirectional", directions == 2}, {"bias", im.has(node, 3)}}, name);
  // The file has (length, directions, batch, hidden), the node (batch, length, directions x hidden).
  const Atoms way = directions == 1 ? Atoms{} : Atoms{draft.fresh(2)};
  const Atoms width = {draft.fresh(hidden)};
  const Atoms batch = {{kBatchAtom, draft.batch()}};
  Atoms last = way;
  last.insert(last.end(), width.begin(), width.end());
  draft.set_layout(n, {batch, steps, last});
  if (batch_first)
    im.put(node, {n, {batch, steps, way, width}}, 0);
  else
    im.put(node, {n, {steps, way, batch, width}}, 0);
  if (!im.used(node, 1) && !im.used(node, 2)) return;
  // The state behind the last step: of one direction that is its last output.
  const int end =
      draft.add(Op::kSlice, {n}, {{"axis", std::int64_t{1}}, {"start", std::int64_t{-1}}}, name + ".last");
  draft.set_layout(end, {batch, {}, last});
  const View state = batch_first ? View{end, {batch, way, width}} : View{end, {way, batch, width}};
  im.put(node, state, 1);
  im.put(node, state, 2);
}

}  // namespace

View linear(Importer& im, const View& view, std::int64_t out, bool bias, const std::string& name) {
  NetworkDraft& draft = im.draft();
  const int in = im.features_last(view, name);
  const int n = draft.add_like(Op::kLinear, in, {{"out_features", out}, {"bias", bias}}, name, true);
  View y{n, view.dims};
  y.dims.back() = draft.layout(n).back();
  return y;
}

void add_layer_ops(Handlers& handlers) {
  handlers["Conv"] = conv;
  handlers["ConvTranspose"] = conv_transpose;
  handlers["Gemm"] = gemm;
  handlers["LSTM"] = recurrent;
  handlers["GRU"] = recurrent;
  handlers["ampere.Embedding"] = embedding;
}

}  // namespace ampere

// Norms, pools, means and dropout.
#include <algorithm>

#include "import/onnx/importer.h"
#include "import/onnx/sizes.h"
#include "import/onnx/windows.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;
using Kind = Value::Kind;
using onnx::int_attr;

void batch_norm(Importer& im, const onnx::Node& node) {
  const View x = im.data(node, 0);
  const std::string name = im.name_for(node, im.has(node, 1) ? im.input(node, 1).source : "");
  const int n = im.draft().add_like(Op::kBatchNorm, im.as_is(x, name), {}, name);
  ++im.seen.batchnorms;
  // Before version 14, updating the statistics showed in further outputs.
  if (int_attr(node, "training_mode", 0) == 1 || (im.opset() < 14 && node.outputs.size() > 1))
    ++im.seen.batchnorms_in_training;
  im.put(node, {n, x.dims});
}

void layer_norm(Importer& im, const onnx::Node& node) {
  const View x = im.data(node, 0);
  const auto axis = onnx::axis_from_front(int_attr(node, "axis", -1), x.dims.size());
  if (!axis || *axis == 0) throw Unsupported("a norm over the batch");
  const bool affine = im.has(node, 1);
  const std::string name = im.name_for(node, affine ? im.input(node, 1).source : "");
  const auto axes = static_cast<std::int64_t>(x.dims.size() - *axis);
  const int in = axes == 1 ? im.features_last(x, name) : im.as_is(x, name);
  const int n = im.draft().add_like(Op::kLayerNorm, in, {{"axes", axes}, {"affine", affine}}, name);
  im.put(node, {n, x.dims});
}

// PyTorch's group norm comes as an instance norm over groups, on a reshaped value.
void instance_norm(Importer& im, const onnx::Node& node) {
  const View x = im.data(node, 0);
  if (x.dims.size() < 3) throw Unsupported("an instance norm of fewer than 3 dimensions");
  const std::string name = im.name_for(node);
  const int as_stored = x.node;
  const Arrangement& have = im.draft().layout(as_stored);
  const std::int64_t groups = size_of(x.dims[1]);
  const bool stored_images =
      have.size() >= 3 && groups > 0 && im.draft().shape(as_stored).dims[1] % groups == 0;
  const int in = stored_images ? as_stored : im.as_is(x, name);
  const bool own = im.has(node, 1) && im.input(node, 1).learned && im.draft().shape(in).dims[1] == groups;
  const int n = im.draft().add_like(Op::kGroupNorm, in, {{"groups", groups}, {"affine", own}}, name);
  im.put(node, {n, x.dims});
}

void group_norm(Importer& im, const onnx::Node& node) {
  const View x = im.data(node, 0);
  const std::string name = im.name_for(node, im.has(node, 1) ? im.input(node, 1).source : "");
  const int n = im.draft().add_like(Op::kGroupNorm, im.as_is(x, name),
                                    {{"groups", int_attr(node, "num_groups", 1)}}, name);
  im.put(node, {n, x.dims});
}

void pool(Importer& im, const onnx::Node& node) {
  Value v = im.input(node, 0);
  const Ints pads = std::move(v.pads);
  v.pads.clear();
  const View x = im.data(v, im.name_for(node));
  const Ints* kernel = onnx::ints_attr(node, "kernel_shape");
  if (!kernel || kernel->empty() || kernel->size() > 2)
    throw Unsupported("a pool of other than 1 or 2 dimensions");
  if (im.used(node, 1)) throw Unsupported("the places of the maxima");
  const Windows w = windows_of(node, x.sizes(), *kernel, pads);
  const bool dilated = std::any_of(w.dilation.begin(), w.dilation.end(), [](auto d) { return d != 1; });
  if (dilated) throw Unsupported("dilation");
  const std::string name = im.name_for(node);
  const int in = im.as_is(x, name);
  const bool mean = node.op == "AveragePool";
  int n = 0;
  const auto ones = [](const Ints& list) {
    return std::all_of(list.begin(), list.end(), [](auto k) { return k == 1; });
  };
  if (mean && ones(w.kernel) && ones(w.stride)) {
    // What is left of an adaptive pool whose input already has the size it wants.
    const Ints dims = x.sizes();
    Ints output(dims.begin() + 2, dims.end());
    if (output.front() == output.back()) output.resize(1);
    n = im.draft().add(Op::kAdaptiveAvgPool, {in}, {{"output", output}}, name);
  } else {
    n = im.draft().add(mean ? Op::kAvgPool : Op::kMaxPool, {in},
                       {{"kernel", w.kernel},
                        {"stride", w.stride == w.kernel ? Ints{} : w.stride},  // none: as the kernel
                        {"padding", w.padding},
                        {"ceil_mode", int_attr(node, "ceil_mode", 0) == 1}},
                       name);
  }
  im.put(node, im.draft().view_of(n));
}

void global_pool(Importer& im, const onnx::Node& node) {
  const View x = im.data(node, 0);
  const std::string name = im.name_for(node);
  const int n = im.draft().add(Op::kAdaptiveAvgPool, {im.as_is(x, name)}, {{"output", Ints{1}}}, name);
  Arrangement layout = im.draft().layout(n);
  layout[1] = x.dims[1];  // channels stay what they are
  im.draft().set_layout(n, layout);
  im.put(node, im.draft().view_of(n));
}

void reduce_mean(Importer& im, const onnx::Node& node) {
  const View x = im.data(node, 0);
  const auto axes = onnx::axes_of(node, im.constants(node));
  const bool keep = int_attr(node, "keepdims", 1) == 1;
  const std::size_t rank = x.dims.size();
  std::vector<bool> gone(rank, !axes || axes->empty());
  for (std::int64_t a : axes.value_or(Ints{})) {
    const auto at = onnx::axis_from_front(a, rank);
    if (!at) throw Unsupported("an axis that is not there");
    gone[*at] = true;
  }
  const std::string name = im.name_for(node);
  if (rank == 4 && keep && !gone[0] && !gone[1] && gone[2] && gone[3]) {
    global_pool(im, node);
    return;
  }
  // Averaging over a dimension of the node itself needs no other arrangement.
  NetworkDraft& draft = im.draft();
  int in = x.node;
  auto places = [&](const Arrangement& layout) {
    Ints out;
    for (std::size_t i = 0; i < rank; ++i) {
      if (!gone[i]) continue;
      for (std::size_t k = 1; k < layout.size(); ++k) {
        if (!x.dims[i].empty() && draft.same(layout[k], x.dims[i]))
          out.push_back(static_cast<std::int64_t>(k));
      }
    }
    return out;
  };
  const auto wanted = static_cast<std::size_t>(std::count(gone.begin(), gone.end(), true));
  if (places(draft.layout(in)).size() != wanted) in = draft.arrange(x.node, draft.canonical(x), name);
  const Ints found = places(draft.layout(in));
  if (found.size() != wanted || found.empty())
    throw Unsupported("a mean over the batch or parts of dimensions");
  const int n = draft.add(Op::kMean, {in}, {{"axes", found}, {"keepdim", keep}}, name);
  Arrangement layout;
  for (std::size_t k = 0; k < draft.layout(in).size(); ++k) {
    if (std::find(found.begin(), found.end(), static_cast<std::int64_t>(k)) == found.end())
      layout.push_back(draft.layout(in)[k]);
    else if (keep)
      layout.push_back({});
  }
  draft.set_layout(n, layout);
  View y{n, {}};
  for (std::size_t i = 0; i < rank; ++i) {
    if (!gone[i]) y.dims.push_back(x.dims[i]);
    if (gone[i] && keep) y.dims.push_back({});
  }
  im.put(node, std::move(y));
}

void dropout(Importer& im, const onnx::Node& node) {
  Value v = im.input(node, 0);
  double p = onnx::real_attr(node, "ratio", 0.5);
  if (im.has(node, 1) && im.constant(node, 1).values && !im.constant(node, 1).values->empty())
    p = (*im.constant(node, 1).values)[0];
  if (!(p >= 0 && p < 1)) throw Unsupported("a ratio outside 0 to 1");
  bool trains = true;
  if (im.has(node, 2) && im.constant(node, 2).values && !im.constant(node, 2).values->empty())
    trains = (*im.constant(node, 2).values)[0] != 0;
  if (v.kind == Kind::kScores && v.scores->softmax) {
    v.scores = std::make_shared<Scores>(*v.scores);
    v.scores->dropout = p;
    if (p > 0 && trains) ++im.seen.dropouts;
    im.put(node, std::move(v));
    return;
  }
  const View x = im.data(v, im.name_for(node));
  if (!trains || p == 0) {
    im.put(node, x);
    return;
  }
  ++im.seen.dropouts;
  im.put(node, {im.draft().add_like(Op::kDropout, x.node, {{"p", p}}, im.name_for(node)), x.dims});
}

}  // namespace

void add_norm_ops(Handlers& handlers) {
  handlers["BatchNormalization"] = batch_norm;
  handlers["LayerNormalization"] = layer_norm;
  handlers["InstanceNormalization"] = instance_norm;
  handlers["GroupNormalization"] = group_norm;
  handlers["MaxPool"] = pool;
  handlers["AveragePool"] = pool;
  handlers["GlobalAveragePool"] = global_pool;
  handlers["ReduceMean"] = reduce_mean;
  handlers["Dropout"] = dropout;
}

}  // namespace ampere

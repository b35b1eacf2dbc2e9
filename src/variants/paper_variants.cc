#include "variants/paper_variants.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;

// How wide the task is, and what the network's data look like: adapters are made of these.
struct Task {
  std::int64_t classes = 10;
  const Layer* input = nullptr;  // the network's own input layer
};

Task task_of(const std::vector<Layer>& layers) {
  Task task;
  for (const Layer& layer : layers) {
    if (layer.role == LayerRole::kInput && !task.input) task.input = &layer;
    if (computes_loss(layer.role)) task.classes = layer.channels.out;
  }
  return task;
}

Node node_of(Op op, const Attrs& attrs) {
  // Network::add fills in the defaults; the scratch input makes it accept any op with one input.
  Network scratch;
  scratch.add(Op::kInput, {}, {{"shape", Ints{1}}});
  scratch.add(op, {0}, attrs);
  Node node = scratch.nodes()[1];
  node.inputs.clear();
  node.name.clear();
  return node;
}

// Per-sample shape that a layer puts out, with its channel dimension marked 0 and told apart.
InputShape output_shape(const LayerKind& kind, Channels channels) {
  const Network network = build_layer(kind, channels);
  const Tensor out = infer_shapes(network, kind.batch).back();
  InputShape shape{{out.dims.begin() + 1, out.dims.end()}};
  const bool image =
      shape.dims.size() == 3 ||
      (shape.dims.size() == 2 && (kind.ops[0].op == Op::kConv1d || kind.inputs[0].dims[0] == 0));
  shape.dims[image ? 0 : shape.dims.size() - 1] = 0;
  return shape;
}

// Flattens or averages what comes in, then a linear layer to the classes.
LayerKind output_adapter(const InputShape& reads, std::int64_t batch, std::int64_t classes) {
  LayerKind kind;
  const bool sequence = reads.dims.size() == 2 && reads.dims[1] == 0;
  if (sequence)
    kind.ops.push_back(node_of(Op::kMean, {{"axes", std::int64_t{1}}}));
  else if (reads.dims.size() > 1)
    kind.ops.push_back(node_of(Op::kFlatten, {}));
  kind.head = kind.ops.size();
  kind.ops.push_back(node_of(Op::kLinear, {{"out_features", classes}}));
  kind.inputs = {reads};
  kind.batch = batch;
  kind.surface = Surface::kIn;
  kind.fixed = {0, classes};
  return kind;
}

// Delivers `wanted` from data like the network's own: its input layer's op at stride 1 where that
// keeps the resolution, a plain 3-tap convolution or a linear layer where it does not.
LayerKind input_adapter(const InputShape& wanted, std::int64_t batch, const Task& task) {
  LayerKind kind;
  kind.batch = batch;
  kind.surface = Surface::kOut;
  const Op own = task.input ? task.input->kind.ops[0].op : Op::kLinear;
  const std::int64_t data_channels = task.input ? task.input->channels.in : 1;
  const bool sequence = wanted.dims.size() == 2 && wanted.dims[1] == 0;
  if (sequence && own == Op::kEmbedding) {
    kind.ops = {task.input->kind.ops[0]};
    kind.inputs = {InputShape{{wanted.dims[0]}, DType::kInt, data_channels}};
    kind.fixed = {data_channels, 0};
    return kind;
  }
  if (sequence || wanted.dims.size() == 1) {
    const std::int64_t features = own == Op::kLinear ? data_channels : 16;
    kind.ops = {node_of(Op::kLinear, {{"out_features", std::int64_t{1}}})};
    kind.inputs = {wanted};
    kind.fixed = {features, 0};
    return kind;
  }
  const Op op = wanted.dims.size() == 3 ? Op::kConv2d : Op::kConv1d;
  std::int64_t taps = 3;
  if (own == op) {
    const Ints& kernel = task.input->kind.ops[0].list("kernel");
    const bool square =
        std::all_of(kernel.begin(), kernel.end(), [&](std::int64_t k) { return k == kernel[0]; });
    if (square && kernel[0] % 2 == 1) taps = kernel[0];
  }
  kind.ops = {node_of(op, {{"out_channels", std::int64_t{1}}, {"kernel", taps}, {"padding", taps / 2}}),
              node_of(Op::kRelu, {})};
  kind.inputs = {wanted};
  kind.fixed = {data_channels, 0};
  return kind;
}

// Appends a layer's ops behind `reads`; `width` is what Channels::out would be.
int append(Network& network, const LayerKind& kind, Channels channels, const std::vector<int>& reads) {
  const Network alone = build_layer(kind, channels);
  std::vector<int> from = reads;
  for (const Node& node : alone.nodes()) {
    if (node.op == Op::kInput) continue;
    from = {network.add(node.op, from, node.attrs)};
  }
  return from[0];
}

std::vector<int> append_inputs(Network& network, const LayerKind& kind, Channels channels) {
  std::vector<int> reads;
  const Network alone = build_layer(kind, channels);
  for (const Node& node : alone.nodes()) {
    if (node.op == Op::kInput) reads.push_back(network.add(Op::kInput, {}, node.attrs));
  }
  return reads;
}

void unite(std::map<std::string, PaperSurface>& surfaces, PaperSurface surface) {
  auto [it, fresh] = surfaces.emplace(surface.key(), surface);
  if (!fresh) it->second.domain = united(it->second.domain, surface.domain);
}

PaperSurface output_surface(const LayerKind& kind, Range in) {
  return {LayerRole::kOutput, kind, {in, {kind.fixed.out, kind.fixed.out, 1}}, {}, {}, "", ""};
}

}  // namespace

std::string PaperSurface::key() const {
  std::string text = layer_key();
  if (input) text += "<" + input->word();
  if (output) text += ">" + output->word();
  return text;
}

std::int64_t channels_read_by_output(const PaperSurface& surface, Channels channels) {
  const InputShape& reads = surface.output->inputs[0];
  const Tensor out = infer_shapes(build_layer(surface.kind, channels), surface.kind.batch).back();
  const std::size_t open =
      static_cast<std::size_t>(std::find(reads.dims.begin(), reads.dims.end(), 0) - reads.dims.begin());
  return out.dims[open + 1];
}

Variant paper_variant(const PaperSurface& s, Channels channels) {
  if (s.role == LayerRole::kOutput || s.role == LayerRole::kOnly) {
    return {build_layer(s.kind, channels), true, false};
  }
  Network network("paper/" + s.key());
  std::vector<int> reads;
  if (s.input) {
    const Channels before{s.input->fixed.in, channels.in};
    const std::vector<int> data = append_inputs(network, *s.input, before);
    const int fed = append(network, *s.input, before, data);
    reads.assign(s.kind.inputs.size(), fed);
  } else {
    reads = append_inputs(network, s.kind, channels);
  }
  const int middle = append(network, s.kind, channels, reads);
  append(network, *s.output, {channels_read_by_output(s, channels), s.output->fixed.out}, {middle});
  return {std::move(network), true, false};
}

std::vector<PaperSurface> paper_surfaces(const std::vector<Layer>& layers) {
  const Task task = task_of(layers);
  std::map<std::string, PaperSurface> outputs, inputs, hidden;
  auto add_output = [&](PaperSurface& behind) {
    const Channels low{behind.domain.in.min, behind.domain.out.min};
    const Channels high{behind.domain.in.max, behind.domain.out.max};
    Range in{channels_read_by_output(behind, low), channels_read_by_output(behind, high), 1};
    const PaperSurface surface = output_surface(*behind.output, in);
    behind.output_key = surface.key();
    unite(outputs, surface);
  };
  for (const LayerGroup& group : group_layers(layers)) {
    const Layer& layer = group.layer;
    PaperSurface s{layer.role, layer.kind, group.domain, {}, {}, "", ""};
    if (computes_loss(layer.role)) {
      s.role = LayerRole::kOutput;
      unite(outputs, s);
      continue;
    }
    s.output = output_adapter(output_shape(layer.kind, layer.channels), layer.kind.batch, task.classes);
    add_output(s);
    if (layer.role == LayerRole::kInput) {
      unite(inputs, s);
      continue;
    }
    s.input = input_adapter(layer.kind.inputs[0], layer.kind.batch, task);
    PaperSurface before{LayerRole::kInput,
                        *s.input,
                        {{s.input->fixed.in, s.input->fixed.in, 1}, s.domain.in},
                        {},
                        {},
                        "",
                        ""};
    before.output = output_adapter(output_shape(*s.input, {s.input->fixed.in, layer.channels.in}),
                                   layer.kind.batch, task.classes);
    add_output(before);
    s.input_key = before.key();
    unite(inputs, before);
    unite(hidden, s);
  }
  std::vector<PaperSurface> all;
  for (auto* group : {&outputs, &inputs, &hidden}) {
    for (auto& [key, surface] : *group) all.push_back(surface);
  }
  return all;
}

}  // namespace ampere

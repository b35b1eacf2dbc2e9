#include "layers/parse.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;

// Which axis of a node's output counts channels: 1 for images and signals, the last for sequences.
std::vector<std::size_t> channel_axes(const Network& network, const std::vector<Tensor>& shapes) {
  const auto& nodes = network.nodes();
  const auto readers = network.consumers();
  std::vector<std::size_t> axes(nodes.size(), 1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t last = shapes[i].dims.size() - 1;
    switch (nodes[i].op) {
      case Op::kInput: {
        const bool signal = std::any_of(readers[i].begin(), readers[i].end(), [&](int r) {
          const Op op = nodes[static_cast<std::size_t>(r)].op;
          return op == Op::kConv1d || op == Op::kBatchNorm || op == Op::kMaxPool || op == Op::kAvgPool;
        });
        axes[i] = last == 3 || (last == 2 && signal) ? 1 : last;
        break;
      }
      case Op::kConv1d:
      case Op::kConv2d:
      case Op::kConvTranspose2d:
        axes[i] = 1;
        break;
      case Op::kLinear:
      case Op::kEmbedding:
      case Op::kLstm:
      case Op::kGru:
      case Op::kAttention:
      case Op::kEncoderLayer:
      case Op::kAttentionCore:
      case Op::kMatmul:
        axes[i] = last;
        break;
      case Op::kLayerNorm:
        axes[i] = nodes[i].integer("axes") == 1 ? last : axes[static_cast<std::size_t>(nodes[i].inputs[0])];
        break;
      case Op::kFlatten:
      case Op::kReshape:
      case Op::kPermute:
      case Op::kMean:
        axes[i] = last == 3 ? 1 : last;
        break;
      default:
        axes[i] = std::min(axes[static_cast<std::size_t>(nodes[i].inputs[0])], last);
    }
    if (axes[i] == 0) axes[i] = last;
  }
  return axes;
}

bool starts_layer(const Node& node, const Network& network, const std::vector<std::vector<int>>& readers,
                  const std::vector<bool>& is_output) {
  const OpClass c = spec_of(node.op).op_class;
  if (c == OpClass::kWeighted || c == OpClass::kJoin) return true;
  const auto producer = static_cast<std::size_t>(node.inputs[0]);
  // What several readers share, or what the user gets to see, ends its layer there.
  return network.nodes()[producer].op == Op::kInput || readers[producer].size() > 1 || is_output[producer];
}

// Ops whose attributes name sizes that would have to change with the channels.
bool fixes_channels(const Node& node, std::size_t channel_axis_in) {
  if (node.op == Op::kMatmul) return true;
  if (node.op == Op::kReshape) {
    const Ints& shape = node.list("shape");
    return std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d > 0; });
  }
  if (node.op == Op::kLearnedAdd || node.op == Op::kLearnedMul) {
    const Ints& shape = node.list("shape");
    return std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d > 1; });
  }
  if (node.op == Op::kSlice) {
    const bool whole = node.integer("start") == 0 && node.integer("end") >= kMaxWidth;
    return static_cast<std::size_t>(node.integer("axis")) == channel_axis_in && !whole;
  }
  return false;
}

class Parser {
 public:
  Parser(const Network& network, std::int64_t batch)
      : network_(network),
        batch_(batch),
        shapes_(infer_shapes(network, batch)),
        axes_(channel_axes(network, shapes_)),
        into_(gradient_into(network)),
        costs_(node_costs(network, batch)),
        is_output_(network.nodes().size(), false) {
    for (int o : network.outputs()) is_output_[static_cast<std::size_t>(o)] = true;
  }

  std::vector<Layer> parse() {
    for (const std::vector<int>& group : chains()) {
      std::optional<Layer> layer = make_layer(group);
      if (layer) layers_.push_back(std::move(*layer));
    }
    return std::move(layers_);
  }

 private:
  std::vector<std::vector<int>> chains() const {
    const auto& nodes = network_.nodes();
    const auto readers = network_.consumers();
    std::vector<std::vector<int>> groups;
    std::vector<std::size_t> group_of(nodes.size(), 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].op == Op::kInput) continue;
      if (starts_layer(nodes[i], network_, readers, is_output_)) {
        group_of[i] = groups.size();
        groups.push_back({});
      } else {
        group_of[i] = group_of[static_cast<std::size_t>(nodes[i].inputs[0])];
      }
      groups[group_of[i]].push_back(static_cast<int>(i));
    }
    return groups;
  }

  std::optional<Layer> make_layer(const std::vector<int>& group) const {
    const auto& nodes = network_.nodes();
    const auto first = static_cast<std::size_t>(group.front());
    Layer layer;
    layer.name = nodes[first].name;
    layer.nodes = group;
    const bool output = std::any_of(group.begin(), group.end(),
                                    [&](int i) { return is_output_[static_cast<std::size_t>(i)]; });
    layer.role = into_[first] ? (output ? LayerRole::kOutput : LayerRole::kHidden)
                              : (output ? LayerRole::kOnly : LayerRole::kInput);
    for (int i : group) {
      layer.cost += costs_[static_cast<std::size_t>(i)];
      layer.kind.ops.push_back(nodes[static_cast<std::size_t>(i)]);
      layer.kind.ops.back().inputs.clear();
      layer.kind.ops.back().name.clear();
    }
    // What only renames the shape at the end costs nothing and would tell equal kinds apart.
    auto renames = [](Op op) { return op == Op::kFlatten || op == Op::kIdentity; };
    while (layer.kind.ops.size() > 1 && renames(layer.kind.ops.back().op)) layer.kind.ops.pop_back();
    // A reshape of the input that moves nothing is not a layer.
    if (layer.cost.flops() == 0 && layer.cost.bytes() == 0) return std::nullopt;
    layer.kind.batch = batch_;
    if (nodes[first].op == Op::kCalls)
      fix_everything(layer);
    else
      open_channels(layer, group);
    return layer;
  }

  // Captured calls say themselves what is computed, gradients and loss included.
  static void fix_everything(Layer& layer) {
    layer.role = LayerRole::kHidden;
    layer.channels = layer.kind.fixed = {1, 1};
    layer.kind.surface = Surface::kPoint;
    layer.kind.inputs = {InputShape{{1}, DType::kFloat, 0}};
  }

  // Takes the channel numbers out of the kind and into layer.channels.
  void open_channels(Layer& layer, const std::vector<int>& group) const {
    const auto& nodes = network_.nodes();
    const Node& head = nodes[static_cast<std::size_t>(group.front())];
    const Tensor& main = shapes_[static_cast<std::size_t>(head.inputs[0])];
    const std::size_t axis = axis_read_by(head);
    std::int64_t in = main.dims[axis];
    if (main.dtype == DType::kInt) in = head.op == Op::kEmbedding ? head.integer("vocabulary") : 1;
    const bool joined = head.op == Op::kConcat && static_cast<std::size_t>(axis_of_concat(head)) == axis;
    for (int source : head.inputs) {
      const Tensor& t = shapes_[static_cast<std::size_t>(source)];
      InputShape shape{{t.dims.begin() + 1, t.dims.end()}, t.dtype, 0};
      if (t.dtype == DType::kInt) {
        shape.classes = head.op == Op::kEmbedding ? head.integer("vocabulary") : 2;
      } else if (axis > 0 && axis < t.dims.size() && (joined || t.dims[axis] == in)) {
        shape.dims[axis - 1] = 0;
      }
      layer.kind.inputs.push_back(std::move(shape));
    }
    if (joined) {
      in = 0;
      for (int source : head.inputs) in += shapes_[static_cast<std::size_t>(source)].dims[axis];
    }
    const char* width = width_attribute(head.op);
    layer.channels = {in, width ? head.integer(width) : in};
    layer.kind.surface = surface_of(layer, head, group);
    layer.kind.fixed = layer.channels;
    layer.in_unit = unit_of(head);
  }

  std::size_t axis_read_by(const Node& head) const {
    const auto source = static_cast<std::size_t>(head.inputs[0]);
    switch (head.op) {
      case Op::kConv1d:
      case Op::kConv2d:
      case Op::kConvTranspose2d:
        return 1;
      case Op::kLinear:
      case Op::kLstm:
      case Op::kGru:
      case Op::kAttention:
      case Op::kEncoderLayer:
      case Op::kAttentionCore:
        return shapes_[source].dims.size() - 1;
      default:
        return axes_[source];
    }
  }

  std::int64_t axis_of_concat(const Node& node) const {
    const std::int64_t axis = node.integer("axis");
    return axis < 0 ? axis + shapes_[static_cast<std::size_t>(node.inputs[0])].rank() : axis;
  }

  Surface surface_of(Layer& layer, const Node& head, const std::vector<int>& group) const {
    for (int i : group) {
      const Node& node = network_.nodes()[static_cast<std::size_t>(i)];
      if (fixes_channels(node, axes_[static_cast<std::size_t>(node.inputs[0])])) return Surface::kPoint;
    }
    Node& own = layer.kind.ops[0];
    const bool conv = head.op == Op::kConv1d || head.op == Op::kConv2d;
    const bool depthwise = conv && layer.channels.in > 1 &&
                           groups_of(head, layer.channels.in) == layer.channels.in &&
                           layer.channels.in == layer.channels.out;
    if (depthwise) own.attrs["groups"] = std::int64_t{0};
    const bool encoder = head.op == Op::kEncoderLayer;
    if (encoder && layer.channels.out % layer.channels.in == 0) {
      layer.kind.feedforward_ratio = layer.channels.out / layer.channels.in;
      layer.channels.out = layer.channels.in;
    }
    if (depthwise || !width_attribute(head.op) || layer.kind.feedforward_ratio > 0) {
      return layer.role == LayerRole::kInput || layer.role == LayerRole::kOnly ? Surface::kPoint
                                                                               : Surface::kTied;
    }
    switch (layer.role) {
      case LayerRole::kInput:
        return Surface::kOut;
      case LayerRole::kOutput:
        return Surface::kIn;
      case LayerRole::kHidden:
        return Surface::kInOut;
      default:
        return Surface::kPoint;
    }
  }

  // A linear layer right after a flatten reads every position of every channel.
  std::int64_t unit_of(const Node& head) const {
    const auto source = static_cast<std::size_t>(head.inputs[0]);
    const Node& before = network_.nodes()[source];
    if (head.op != Op::kLinear || before.op != Op::kFlatten) return 1;
    const auto origin = static_cast<std::size_t>(before.inputs[0]);
    const std::int64_t channels = shapes_[origin].dims[axes_[origin]];
    const std::int64_t features = shapes_[source].dims.back();
    return features % channels == 0 ? features / channels : 1;
  }

  const Network& network_;
  std::int64_t batch_;
  std::vector<Tensor> shapes_;
  std::vector<std::size_t> axes_;
  std::vector<bool> into_;
  std::vector<Cost> costs_;
  std::vector<bool> is_output_;
  std::vector<Layer> layers_;
};

// Channels must be multiples of groups, of heads, of a group norm's groups.
Range channel_range(const Layer& layer, std::int64_t most, std::int64_t unit, bool is_in) {
  std::int64_t step = unit;
  for (const Node& op : layer.kind.ops) {
    if (op.op == Op::kConv1d || op.op == Op::kConv2d || op.op == Op::kConvTranspose2d)
      step = std::lcm(step, std::max<std::int64_t>(1, op.integer("groups")));
    if (op.op == Op::kGroupNorm && !(is_in && width_attribute(layer.kind.ops[0].op)))
      step = std::lcm(step, op.integer("groups"));
    if ((op.op == Op::kAttention || op.op == Op::kEncoderLayer) && is_in)
      step = std::lcm(step, op.integer("heads"));
    if (op.op == Op::kAttentionCore && is_in)
      step = std::lcm(step, op.integer("heads") * (layer.kind.inputs.size() == 1 ? 3 : 1));
    if (op.op == Op::kChannelShuffle && !(is_in && width_attribute(layer.kind.ops[0].op)))
      step = std::lcm(step, op.integer("groups"));
  }
  if (layer.kind.ops[0].op == Op::kConcat) {
    return {static_cast<std::int64_t>(layer.kind.inputs.size()), most, 1};
  }
  return {std::min(step, most), most, step};
}

Range fixed_range(std::int64_t value) { return {value, value, 1}; }

Range united(const Range& a, const Range& b) {
  const bool a_point = a.min == a.max;
  const bool b_point = b.min == b.max;
  const std::int64_t step = a_point && b_point ? 1
                            : a_point          ? b.step
                            : b_point          ? a.step
                                               : std::gcd(a.step, b.step);
  return {std::min(a.min, b.min), std::max(a.max, b.max), step};
}

}  // namespace

std::vector<Layer> parse_layers(const Network& network, std::int64_t batch) {
  return Parser(network, batch).parse();
}

Domain domain_of(const Layer& layer) {
  const Range in = channel_range(layer, layer.channels.in, layer.in_unit, true);
  const Range out = channel_range(layer, layer.channels.out, 1, false);
  switch (layer.kind.surface) {
    case Surface::kOut:
      return {fixed_range(layer.channels.in), out};
    case Surface::kIn:
      return {in, fixed_range(layer.channels.out)};
    case Surface::kInOut:
      return {in, out};
    case Surface::kTied:
      return {in, in};
    default:
      return {fixed_range(layer.channels.in), fixed_range(layer.channels.out)};
  }
}

Domain united(const Domain& a, const Domain& b) { return {united(a.in, b.in), united(a.out, b.out)}; }

std::vector<LayerGroup> group_layers(const std::vector<Layer>& layers) {
  std::vector<LayerGroup> groups;
  std::map<std::string, std::size_t> index;
  for (const Layer& layer : layers) {
    auto [it, fresh] = index.emplace(layer.key(), groups.size());
    if (fresh) groups.push_back({layer, domain_of(layer), 0, 0});
    LayerGroup& group = groups[it->second];
    group.domain = united(group.domain, domain_of(layer));
    group.count += 1;
    group.flops += layer.cost.flops();
  }
  return groups;
}

}  // namespace ampere

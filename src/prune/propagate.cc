#include "prune/propagate.h"

#include <algorithm>
#include <numeric>

#include "layers/layer_kind.h"
#include "network/shape.h"

namespace ampere {
namespace {

using Shape = std::vector<Terms>;  // one list of terms per dimension

Terms constant(std::int64_t value) { return {{-1, value}}; }
bool is_constant(const Terms& terms) {
  return std::all_of(terms.begin(), terms.end(), [](const Term& t) { return t.number < 0; });
}

Terms times(Terms terms, std::int64_t factor) {
  for (Term& t : terms) t.factor *= factor;
  return terms;
}

class Propagation {
 public:
  Propagation(const Network& network, std::int64_t batch)
      : network_(network), sizes_(infer_shapes(network, batch)) {
    out_.width.resize(network.nodes().size());
    out_.groups.resize(network.nodes().size());
  }

  Propagated run() {
    const auto& nodes = network_.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) shapes_.push_back(shape_of(i, nodes[i]));
    for (int o : network_.outputs()) fix(shapes_[static_cast<std::size_t>(o)], "the network puts them out");
    return std::move(out_);
  }

 private:
  const Shape& in(const Node& node, std::size_t k = 0) const {
    return shapes_[static_cast<std::size_t>(node.inputs[k])];
  }
  const Tensor& in_size(const Node& node, std::size_t k = 0) const {
    return sizes_[static_cast<std::size_t>(node.inputs[k])];
  }

  int root(int number) const { return out_.root_of(number); }
  OpenNumber& facts(int number) { return out_.numbers[static_cast<std::size_t>(root(number))]; }

  Terms open(std::size_t node, std::int64_t size) {
    const int number = static_cast<int>(out_.numbers.size());
    out_.numbers.push_back({network_.nodes()[node].name, size, 1, 1, "", number});
    out_.width[node] = {{number, 1}};
    return out_.width[node];
  }

  void fix(const Terms& terms, const std::string& why) {
    for (const Term& t : terms) {
      if (t.number >= 0 && facts(t.number).fixed.empty()) facts(t.number).fixed = why;
    }
  }
  void fix(const Shape& shape, const std::string& why) {
    for (const Terms& terms : shape) fix(terms, why);
  }
  std::string by(const Node& node) const { return describe(node) + " fixes them"; }

  // Every term a multiple of `unit`: more than a sum of them needs, but what a group of channels means.
  void want_multiple(const Terms& terms, std::int64_t unit) {
    for (const Term& t : terms) {
      if (t.number < 0) continue;
      OpenNumber& n = facts(t.number);
      n.unit = std::lcm(n.unit, unit / std::gcd(unit, t.factor));
    }
  }

  std::int64_t size_of(const Term& t) { return t.number < 0 ? t.factor : t.factor * facts(t.number).size; }

  void join(int a, int b) {
    const int to = std::min(root(a), root(b));
    const int from = std::max(root(a), root(b));
    if (to == from) return;
    OpenNumber& kept = out_.numbers[static_cast<std::size_t>(to)];
    OpenNumber& gone = out_.numbers[static_cast<std::size_t>(from)];
    kept.unit = std::lcm(kept.unit, gone.unit);
    kept.least = std::max(kept.least, gone.least);
    if (kept.fixed.empty()) kept.fixed = gone.fixed;
    gone.root = to;
  }

  // Makes two dimensions equal for good; where that cannot be said term by term, nothing in them may change.
  void equate(const Terms& a, const Terms& b, const Node& node) {
    bool alike = a.size() == b.size();
    for (std::size_t i = 0; alike && i < a.size(); ++i) {
      const bool both_open = a[i].number >= 0 && b[i].number >= 0;
      alike = size_of(a[i]) == size_of(b[i]) && (!both_open || a[i].factor == b[i].factor);
    }
    if (!alike) {
      fix(a, by(node));
      fix(b, by(node));
      return;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].number >= 0 && b[i].number >= 0) {
        join(a[i].number, b[i].number);
      } else {
        fix({a[i], b[i]}, by(node));
      }
    }
  }

  Shape constants(std::size_t node) const {
    Shape shape;
    for (std::int64_t d : sizes_[node].dims) shape.push_back(constant(d));
    return shape;
  }

  // The node's own sizes where they follow from windows; what is open there must stay.
  Shape with_spatial(std::size_t i, const Node& node, Terms channels) {
    const Shape& from = in(node);
    for (std::size_t d = 2; d < from.size(); ++d) fix(from[d], by(node));
    Shape shape = constants(i);
    shape[1] = std::move(channels);
    return shape;
  }

  Shape conv(std::size_t i, const Node& node) {
    const std::int64_t channels = in_size(node).dims[1];
    const std::int64_t groups = groups_of(node, channels);
    const std::int64_t out = node.integer("out_channels");
    if (groups == channels && channels > 1) {  // depthwise: as many as it reads, times a multiplier
      out_.width[i] = times(in(node)[1], out / channels);
      if (node.integer("groups") != 0) out_.groups[i] = in(node)[1];
      return with_spatial(i, node, out_.width[i]);
    }
    want_multiple(in(node)[1], groups);
    const Terms width = open(i, out);
    want_multiple(width, groups);
    // One channel per group would be a depthwise convolution, another kind.
    if (groups > 1) facts(width[0].number).least = 2 * groups;
    return with_spatial(i, node, width);
  }

  Shape with_last(const Node& node, Terms last) const {
    Shape shape = in(node);
    shape.back() = std::move(last);
    return shape;
  }

  Shape encoder(std::size_t i, const Node& node) {
    Shape shape = in(node);
    const std::int64_t width = in_size(node).dims.back();
    const std::int64_t inner = node.integer("feedforward");
    want_multiple(shape.back(), node.integer("heads"));
    if (inner % width == 0) {
      out_.width[i] = times(shape.back(), inner / width);
    } else {
      out_.width[i] = constant(inner);
      fix(shape.back(), by(node));
    }
    return shape;
  }

  Shape broadcast(std::size_t i, const Node& node) {
    Shape shape = constants(i);
    const std::size_t rank = shape.size();
    for (std::size_t d = 0; d < rank; ++d) {
      const Terms* first = nullptr;
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        const std::size_t shift = rank - in(node, k).size();
        if (d < shift || (in_size(node, k).dims[d - shift] == 1 && sizes_[i].dims[d] != 1)) continue;
        const Terms& one = in(node, k)[d - shift];
        if (first) equate(*first, one, node);
        if (!first) first = &one;
      }
      if (first) shape[d] = *first;
    }
    return shape;
  }

  Shape concat(const Node& node) {
    Shape shape = in(node);
    const std::int64_t given = node.integer("axis");
    const auto rank = static_cast<std::int64_t>(shape.size());
    const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
    for (std::size_t k = 1; k < node.inputs.size(); ++k) {
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const Terms& one = in(node, k)[d];
        if (d == axis) {
          shape[d].insert(shape[d].end(), one.begin(), one.end());
        } else {
          equate(shape[d], one, node);
        }
      }
    }
    return shape;
  }

  // One number of positions for several dimensions; two open ones would multiply.
  Terms product(const Shape& dims, const Node& node) {
    std::int64_t factor = 1;
    const Terms* open = nullptr;
    for (const Terms& d : dims) {
      if (!is_constant(d) && !open) {
        open = &d;
        continue;
      }
      fix(d, by(node));
      std::int64_t size = 0;
      for (const Term& t : d) size += size_of(t);
      factor *= size;
    }
    return open ? times(*open, factor) : constant(factor);
  }

  Shape flatten(const Node& node) {
    const Shape& from = in(node);
    const auto start = static_cast<std::size_t>(node.integer("start"));
    if (start >= from.size()) return from;
    const auto at = from.begin() + static_cast<std::ptrdiff_t>(start);
    Shape shape(from.begin(), at);
    shape.push_back(product(Shape(at, from.end()), node));
    return shape;
  }

  Shape reshape(std::size_t i, const Node& node) {
    const Shape& from = in(node);
    const auto& wanted = node.list("shape");
    const bool named = std::any_of(wanted.begin(), wanted.end(), [](std::int64_t d) { return d > 0; });
    if (named) {
      fix(from, by(node));
      return constants(i);
    }
    Shape rest = from;  // what is not kept goes into the one that takes the rest
    Shape shape(wanted.size());
    for (std::size_t d = 0; d < wanted.size(); ++d) {
      if (wanted[d] != 0) continue;
      shape[d] = from[d];
      rest[d] = constant(1);
    }
    for (std::size_t d = 0; d < wanted.size(); ++d) {
      if (wanted[d] < 0) shape[d] = product(rest, node);
    }
    return shape;
  }

  Shape slice(std::size_t i, const Node& node) {
    Shape shape = in(node);
    const auto axis = static_cast<std::size_t>(node.integer("axis"));
    const bool whole =
        node.integer("start") == 0 && node.integer("end") >= kMaxWidth && node.integer("step") == 1;
    if (whole) return shape;
    fix(shape[axis], by(node));
    shape[axis] = constant(sizes_[i].dims[axis]);
    return shape;
  }

  Shape permute(const Node& node) const {
    Shape shape;
    for (std::int64_t d : node.list("order")) shape.push_back(in(node)[static_cast<std::size_t>(d)]);
    return shape;
  }

  Shape mean(const Node& node) const {
    const Shape& from = in(node);
    std::vector<bool> gone(from.size(), false);
    for (std::int64_t axis : node.list("axes")) {
      const auto rank = static_cast<std::int64_t>(from.size());
      gone[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
    Shape shape;
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (!gone[d]) shape.push_back(from[d]);
      if (gone[d] && node.flag("keepdim")) shape.push_back(constant(1));
    }
    return shape;
  }

  Shape shape_of(std::size_t i, const Node& node) {
    switch (node.op) {
      case Op::kInput:
        return constants(i);
      case Op::kConv1d:
      case Op::kConv2d:
        return conv(i, node);
      case Op::kLinear:
        return with_last(node, open(i, node.integer("out_features")));
      case Op::kEmbedding: {
        Shape shape = in(node);
        shape.push_back(open(i, node.integer("dim")));
        return shape;
      }
      case Op::kLstm:
      case Op::kGru:
        return with_last(node,
                         times(open(i, node.integer("hidden_size")), node.flag("bidirectional") ? 2 : 1));
      case Op::kAttention:
        for (std::size_t k = 1; k < node.inputs.size(); ++k)
          equate(in(node).back(), in(node, k).back(), node);
        want_multiple(in(node).back(), node.integer("heads"));
        return in(node);
      case Op::kEncoderLayer:
        return encoder(i, node);
      case Op::kMaxPool:
      case Op::kAvgPool:
      case Op::kAdaptiveAvgPool:
        return with_spatial(i, node, in(node)[1]);
      case Op::kAdd:
      case Op::kMul:
        return broadcast(i, node);
      case Op::kConcat:
        return concat(node);
      case Op::kMatmul:
        for (std::size_t k = 0; k < 2; ++k) fix(in(node, k), by(node));
        return constants(i);
      case Op::kFlatten:
        return flatten(node);
      case Op::kReshape:
        return reshape(i, node);
      case Op::kPermute:
        return permute(node);
      case Op::kSlice:
        return slice(i, node);
      case Op::kMean:
        return mean(node);
      case Op::kGroupNorm:
        want_multiple(in(node)[1], node.integer("groups"));
        return in(node);
      default:
        return in(node);
    }
  }

  const Network& network_;
  std::vector<Tensor> sizes_;
  std::vector<Shape> shapes_;
  Propagated out_;
};

}  // namespace

int Propagated::root_of(int number) const {
  while (numbers[static_cast<std::size_t>(number)].root != number)
    number = numbers[static_cast<std::size_t>(number)].root;
  return number;
}

Propagated propagate_channels(const Network& network, std::int64_t batch) {
  return Propagation(network, batch).run();
}

}  // namespace ampere

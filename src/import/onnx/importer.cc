#include "import/onnx/importer.h"

#include <algorithm>

#include "base/error.h"
#include "import/unsupported.h"
#include "network/cost.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;
using onnx::ElementType;
using Kind = Value::Kind;

constexpr std::int64_t kStandInBatch = 2;  // where the file leaves the batch open

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

std::int64_t file_batch(const onnx::Model& model) {
  for (const onnx::Declared& in : model.inputs) {
    if (model.initializers.count(in.name) == 0 && !in.dims.empty() && in.dims[0].value > 0)
      return std::min(in.dims[0].value, kMaxWidth);
  }
  return kStandInBatch;
}

}  // namespace

Handler find_handler(const std::string& op) {
  static const Handlers table = [] {
    Handlers handlers;
    add_layer_ops(handlers);
    add_norm_ops(handlers);
    add_elementwise_ops(handlers);
    add_shape_ops(handlers);
    add_attention_ops(handlers);
    add_einsum_op(handlers);
    return handlers;
  }();
  auto it = table.find(op);
  return it == table.end() ? nullptr : it->second;
}

Importer::Importer(const onnx::Model& model, const ImportOptions& options, std::string where)
    : model_(model), options_(options), where_(std::move(where)), draft_(file_batch(model)) {
  for (const onnx::Node& node : model.nodes) {
    for (const std::string& in : node.inputs) {
      ++uses_[in];
      reader_[in] = &node;
    }
    // The newer exporter writes "node_conv2d", the older one paths of modules: "/layer1/Conv".
    if (starts_with(node.name, "node_") && model.producer == "pytorch") by_torch_export_ = true;
  }
  for (const onnx::Declared& o : model.outputs) ++uses_[o.name];
  for (const auto& [name, tensor] : model.initializers) {
    Value v;
    v.kind = Kind::kConstant;
    v.type = tensor.type;
    v.constant = tensor;
    v.learned = tensor.type == ElementType::kFloat && tensor.elements() > 1;
    v.source = name;
    values_[name] = std::move(v);
  }
}

void Importer::read_inputs() {
  std::string missing;
  for (const onnx::Declared& in : model_.inputs) {
    if (model_.initializers.count(in.name) > 0) continue;
    if (!in.has_shape || in.dims.empty())
      throw bad_input(where_ + ": input \"" + in.name + "\" has no shape with a batch dimension");
    Ints shape;
    for (std::size_t i = 0; i < in.dims.size(); ++i) {
      const onnx::Dim& dim = in.dims[i];
      std::int64_t size = dim.value;
      auto given = options_.dims.find(dim.name);
      if (given != options_.dims.end() && !dim.name.empty()) size = given->second;
      if (i == 0) {
        if (dim.value > 0) {
          if (dim.value != draft_.batch())
            throw bad_input(where_ + ": input \"" + in.name + "\" has a batch of " +
                            std::to_string(dim.value) + ", another input one of " +
                            std::to_string(draft_.batch()));
          result_.batch = dim.value;
        }
        continue;
      }
      if (size < 1)
        missing += (missing.empty() ? "" : ", ") +
                   (dim.name.empty() ? in.name + "[" + std::to_string(i) + "]" : dim.name);
      shape.push_back(size);
    }
    if (!missing.empty()) continue;
    // The embedding that reads it says how many distinct values there are.
    const bool whole = in.type != ElementType::kFloat;
    Attrs attrs = {{"shape", shape.empty() ? Ints{1} : shape}};
    if (whole) {
      attrs["dtype"] = std::string("int");
      attrs["classes"] = std::int64_t{2};
    }
    const int node = draft_.add(Op::kInput, {}, std::move(attrs), in.name);
    Value v;
    v.kind = Kind::kData;
    v.type = in.type;
    v.view = draft_.view_of(node);
    if (shape.empty()) v.view.dims.resize(1);
    values_[in.name] = std::move(v);
  }
  if (!missing.empty()) {
    throw bad_input(where_ + ": these dimensions of its inputs have names but no sizes: " + missing +
                    "; give them with --dim NAME=SIZE");
  }
  for (const auto& [name, size] : options_.dims) {
    const bool known =
        std::any_of(model_.inputs.begin(), model_.inputs.end(), [&n = name](const onnx::Declared& in) {
          return std::any_of(in.dims.begin(), in.dims.end(), [&](const onnx::Dim& d) { return d.name == n; });
        });
    if (!known) throw bad_input(where_ + ": --dim " + name + ": no input has a dimension of that name");
  }
}

const Value& Importer::value(const std::string& name) const {
  static const Value unknown;
  auto it = values_.find(name);
  return it == values_.end() ? unknown : it->second;
}

bool Importer::has(const onnx::Node& node, std::size_t i) const {
  return i < node.inputs.size() && !node.inputs[i].empty();
}

const Value& Importer::input(const onnx::Node& node, std::size_t i) const {
  if (!has(node, i)) throw Unsupported("an input is missing");
  return value(node.inputs[i]);
}

View Importer::data(const onnx::Node& node, std::size_t i) { return data(input(node, i), name_for(node)); }

View Importer::data(const Value& v, const std::string& name) {
  if (v.kind == Kind::kScores) return spelled_out(*this, *v.scores);
  if (v.kind != Kind::kData) throw Unsupported("expected a value that is computed from the network's inputs");
  if (!v.pads.empty()) throw Unsupported("padding that no convolution or pool comes behind");
  return v.scaled ? one_pass(*this, v.view, name) : v.view;
}

const onnx::Constant& Importer::constant(const onnx::Node& node, std::size_t i) const {
  const Value& v = input(node, i);
  if (v.kind != Kind::kConstant)
    throw Unsupported("weights or sizes that are computed from the network's inputs");
  return v.constant;
}

std::vector<const onnx::Constant*> Importer::constants(const onnx::Node& node) const {
  std::vector<const onnx::Constant*> out;
  for (const std::string& name : node.inputs) {
    auto it = values_.find(name);
    out.push_back(it != values_.end() && it->second.kind == Kind::kConstant ? &it->second.constant : nullptr);
  }
  return out;
}

Ints Importer::sizes(const Value& v) const {
  switch (v.kind) {
    case Kind::kConstant:
      return v.constant.dims;
    case Kind::kData:
      return v.view.sizes();
    case Kind::kSide:
      return v.dims;
    case Kind::kScores: {
      Ints out = v.scores->query.sizes();
      out.back() = v.scores->key.sizes().back();
      return out;
    }
    default:
      throw Unsupported("its input is unknown");
  }
}

void Importer::put(const onnx::Node& node, View view, std::size_t output) {
  Value v;
  v.kind = Kind::kData;
  v.type = draft_.shape(view.node).dtype == DType::kInt ? ElementType::kInt : ElementType::kFloat;
  v.view = std::move(view);
  put(node, std::move(v), output);
}

void Importer::put(const onnx::Node& node, Value v, std::size_t output) {
  if (output < node.outputs.size() && !node.outputs[output].empty())
    values_[node.outputs[output]] = std::move(v);
}

bool Importer::used(const onnx::Node& node, std::size_t output) const {
  return output < node.outputs.size() && uses(node.outputs[output]) > 0;
}

int Importer::uses(const std::string& name) const {
  auto it = uses_.find(name);
  return it == uses_.end() ? 0 : it->second;
}

const onnx::Node* Importer::only_reader(const std::string& name) const {
  auto it = reader_.find(name);
  return it == reader_.end() || uses(name) != 1 ? nullptr : it->second;
}

const Importer::Part* Importer::part(int node) const {
  auto it = parts_.find(node);
  return it == parts_.end() ? nullptr : &it->second;
}

int Importer::slice(int node, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step,
                    const std::string& name) {
  auto [it, fresh] = slices_.emplace(Ints{node, axis, start, end, step}, 0);
  slice_is_old_ = !fresh;
  if (!fresh) return it->second;
  const std::int64_t whole = draft_.shape(node).dims[static_cast<std::size_t>(axis)];
  // What reaches to the end is counted from there, so that it is the same for every length.
  Attrs attrs = {{"axis", axis}, {"start", start}, {"step", step}};
  if (end < whole)
    attrs["end"] = end;
  else if (start > 0)
    attrs["start"] = start - whole;
  const int made = draft_.add(Op::kSlice, {node}, std::move(attrs), name);
  it->second = made;
  if (step == 1) parts_[made] = {node, axis, start, end, whole};
  return made;
}

int Importer::as_is(const View& view, const std::string& name) {
  return draft_.arrange(view.node, view.dims, name);
}

bool Importer::in_order(const View& view) const {
  auto order = [&](const Arrangement& dims) {
    std::vector<int> out;
    for (const Atoms& dim : dims) {
      for (const Atom& a : draft_.leaves(dim)) {
        if (a.id != kBatchAtom) out.push_back(a.id);
      }
    }
    return out;
  };
  return order(draft_.layout(view.node)) == order(view.dims);
}

int Importer::features_last(const View& view, const std::string& name) {
  if (view.dims.size() < 2) throw Unsupported("a value of one dimension");
  const Arrangement& have = draft_.layout(view.node);
  const bool tight = std::none_of(have.begin() + 1, have.end(), [](const Atoms& a) { return a.empty(); });
  // Positions in another order (windows of an image) are data that move, and they do so before the layer.
  if (tight && have.size() >= 2 && draft_.same(have.back(), view.dims.back()) && in_order(view))
    return view.node;
  Arrangement wanted = draft_.canonical({view.node, {view.dims.begin(), view.dims.end() - 1}});
  wanted.erase(std::remove_if(wanted.begin() + 1, wanted.end(), [](const Atoms& a) { return a.empty(); }),
               wanted.end());
  wanted.push_back(view.dims.back());
  return draft_.arrange(view.node, wanted, name);
}

std::string Importer::name_for(const onnx::Node& node, const std::string& weight) const {
  const std::size_t dot = weight.rfind('.');
  const bool path = dot != std::string::npos && dot > 0 && weight.find("::") == std::string::npos;
  if (path) return weight.substr(0, dot);
  std::string name = node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  if (starts_with(name, "node_")) name = name.substr(5);
  return name.empty() || name[0] != '/' ? name : name.substr(1);
}

void Importer::unsupported(const onnx::Node& node, const std::string& why) {
  const std::string op = node.domain.empty() ? node.op : node.domain + "::" + node.op;
  const std::string place = node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  add_unsupported(result_.unsupported, op, why, place);
}

// What is behind an op that is left out reads what is before it, where the shapes allow.
void Importer::pass_through(const onnx::Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& v = value(node.inputs[i]);
    if (v.kind != Kind::kData) continue;
    Value out = v;
    auto told = node.outputs.empty() ? model_.shapes.end() : model_.shapes.find(node.outputs[0]);
    if (told != model_.shapes.end() && told->second.has_shape) {
      Ints dims;
      for (const onnx::Dim& d : told->second.dims) dims.push_back(d.value);
      if (dims != v.view.sizes()) return;
    }
    double count = 1;
    for (std::int64_t d : v.view.sizes()) count *= static_cast<double>(d);
    ignored_flops_ += 2 * count;
    put(node, std::move(out));
    return;
  }
}

void Importer::step(const onnx::Node& node) {
  try {
    if (node.domain.empty() && (fold(node) || aside(node))) return;
    const Handler handler = node.domain.empty() ? find_handler(node.op) : nullptr;
    bool unknown = false, any = false;
    for (const std::string& in : node.inputs) {
      if (in.empty()) continue;
      unknown = unknown || value(in).kind == Kind::kUnknown;
      any = any || value(in).kind != Kind::kConstant;
    }
    if (unknown) return;  // behind something that was told already
    if (!handler) throw Unsupported(any || node.inputs.empty() ? "" : "computed from weights");
    handler(*this, node);
  } catch (const Unsupported& e) {
    unsupported(node, e.what());
    pass_through(node);
  } catch (const Error& e) {
    unsupported(node, e.what());
    pass_through(node);
  }
}

std::vector<int> Importer::outputs() {
  std::vector<int> out;
  for (const onnx::Declared& o : model_.outputs) {
    const Value& v = value(o.name);
    if (v.kind != Kind::kData && v.kind != Kind::kScores) continue;
    if (v.kind == Kind::kData && v.type != ElementType::kFloat) continue;
    const View view = data(v, o.name);
    const int node = draft_.arrange(view.node, draft_.canonical(view), o.name);
    if (std::find(out.begin(), out.end(), node) == out.end()) out.push_back(node);
  }
  return out;
}

Imported Importer::run(const std::string& name) {
  read_inputs();
  for (const onnx::Node& node : model_.nodes) step(node);
  if (!options_.ignore_unsupported) refuse_unsupported();
  std::vector<int> results;
  try {
    results = outputs();
  } catch (const Unsupported& e) {
    throw bad_input(where_ + ": the network's output cannot be trained: " + e.what());
  }
  if (results.empty()) {
    throw bad_input(where_ + ": no output of float numbers is left that depends on its inputs" +
                    (result_.unsupported.empty() ? "" : " without the ops that are not supported"));
  }
  restore_biases();
  result_.network = draft_.finish(name, results);
  if (ignored_flops_ > 0) {
    const double known = network_cost(result_.network, draft_.batch()).forward_flops;
    result_.ignored_flops_share = ignored_flops_ / (known + ignored_flops_);
  }
  add_notes();
  return std::move(result_);
}

}  // namespace ampere

#include "import/script/script_import.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "import/unsupported.h"
#include "network/cost.h"
#include "network/shape.h"

namespace ampere::script {
namespace {

using Kind = TracedValue::Kind;

const ScriptSteps& shape_steps() {
  static const ScriptSteps steps = [] {
    ScriptSteps all;
    add_shape_steps(all);
    return all;
  }();
  return steps;
}

const ScriptSteps& all_steps() {
  static const ScriptSteps steps = [] {
    ScriptSteps all = shape_steps();
    add_weight_steps(all);
    add_pointwise_steps(all);
    add_attention_steps(all);
    return all;
  }();
  return steps;
}

// "aten::relu_" is relu: where the result is put costs nothing.
std::string plain_name(const std::string& op) {
  const std::size_t colons = op.find("::");
  if (op.substr(0, colons) != "aten" || colons == std::string::npos) return op;
  std::string name = op.substr(colons + 2);
  if (name.size() > 1 && name.back() == '_') name.pop_back();
  return name;
}

bool is_live(const TracedValue& v) {
  return v.kind == Kind::kData || v.kind == Kind::kScores || v.kind == Kind::kState;
}

bool makes_tensors(const std::string& name) {
  static const std::set<std::string> makers = {"new_zeros",  "new_ones",   "new_full",   "new_empty",
                                               "zeros_like", "ones_like",  "full_like",  "rand_like",
                                               "randn_like", "empty_like", "new_tensor", "randint_like"};
  return makers.count(name) > 0;
}

bool draws(const std::string& name) {
  return name.find("rand") != std::string::npos || name.find("bernoulli") != std::string::npos ||
         name == "dropout";
}

std::string shape_text(const Dims& shape) { return to_text(Tensor{shape}); }

}  // namespace

std::int64_t elements(const Dims& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

ScriptImport::ScriptImport(const RecordedPass& pass, const ImportOptions& options, std::string where)
    : draft(pass.batch),
      pass_(pass),
      options_(options),
      where_(std::move(where)),
      values_(pass.tensors.size()) {
  for (std::size_t i = 0; i < pass.tensors.size(); ++i) {
    const RecordedTensor& t = pass.tensors[i];
    TracedValue& v = values_[i];
    v.shape = t.shape;
    v.name = t.name;
    v.whole_numbers = t.dtype != "float";
    if (t.role == TensorRole::kParameter) v.kind = Kind::kParameter;
    if (t.role == TensorRole::kBuffer || t.role == TensorRole::kConstant) v.kind = Kind::kConstant;
  }
  for (int input : pass.inputs) add_input(input);
  std::vector<int> readers(pass.tensors.size(), 0);
  for (const RecordedOp& op : pass.ops) {
    for (const auto& [key, argument] : op.args.items()) {
      for (int t : tensors_of(argument)) ++readers[static_cast<std::size_t>(t)];
    }
    for (std::size_t at = op.module.find('.'); at != std::string::npos; at = op.module.find('.', at + 1))
      containers_.insert(op.module.substr(0, at));
  }
  for (std::size_t i = 0; i < readers.size(); ++i) values_[i].read_once = readers[i] == 1;
}

void ScriptImport::add_input(int tensor) {
  const RecordedTensor& t = pass_.tensors[static_cast<std::size_t>(tensor)];
  TracedValue& v = values_[static_cast<std::size_t>(tensor)];
  if (t.shape.size() < 2 || t.shape[static_cast<std::size_t>(t.batch_axis)] != pass_.batch)
    throw bad_input(where_ + ": an input without the batch");
  Dims sample = t.shape;
  sample.erase(sample.begin() + t.batch_axis);
  Attrs attrs = {{"shape", sample}};
  if (v.whole_numbers) {
    attrs["dtype"] = std::string("int");
    attrs["classes"] = kMaxWidth;  // until a table says how many rows it has
  }
  const int node = draft.add(Op::kInput, {}, std::move(attrs), "input");
  if (v.whole_numbers) int_inputs_.push_back(node);
  v.view = draft.view_of(node);
  std::rotate(v.view.dims.begin(), v.view.dims.begin() + 1, v.view.dims.begin() + t.batch_axis + 1);
  v.kind = Kind::kData;
}

bool ScriptImport::has(const char* name) const {
  const auto found = op_->args.find(name);
  return found != op_->args.end() && !found->is_null();
}

std::int64_t ScriptImport::integer(const char* name, std::int64_t fallback) const {
  if (!has(name)) return fallback;
  const Json& value = op_->args.at(name);
  if (value.is_array() && value.size() == 1 && value[0].is_number_integer())
    return value[0].get<std::int64_t>();
  if (!value.is_number_integer()) throw Unsupported(std::string(name) + " is not a whole number");
  return value.get<std::int64_t>();
}

double ScriptImport::number(const char* name, double fallback) const {
  if (!has(name)) return fallback;
  if (!op_->args.at(name).is_number()) throw Unsupported(std::string(name) + " is not a number");
  return op_->args.at(name).get<double>();
}

bool ScriptImport::flag(const char* name, bool fallback) const {
  if (!has(name)) return fallback;
  const Json& value = op_->args.at(name);
  return value.is_boolean() ? value.get<bool>() : value.is_number_integer() && value.get<std::int64_t>() != 0;
}

Dims ScriptImport::integers(const char* name, Dims fallback) const {
  if (!has(name)) return fallback;
  const Json& value = op_->args.at(name);
  if (value.is_number_integer()) return {value.get<std::int64_t>()};
  const bool whole = value.is_array() && std::all_of(value.begin(), value.end(),
                                                     [](const Json& v) { return v.is_number_integer(); });
  if (!whole) throw Unsupported(std::string(name) + " is not a list of whole numbers");
  return value.get<Dims>();
}

const TracedValue& ScriptImport::tensor(const char* name) const {
  const std::vector<int> found = has(name) ? tensors_of(op_->args.at(name)) : std::vector<int>{};
  if (found.size() != 1) throw Unsupported(std::string("has no tensor ") + name);
  return values_[static_cast<std::size_t>(found[0])];
}

std::vector<TracedValue> ScriptImport::tensors(const char* name) const {
  std::vector<TracedValue> list;
  if (!has(name)) return list;
  for (int t : tensors_of(op_->args.at(name))) list.push_back(values_[static_cast<std::size_t>(t)]);
  return list;
}

const RecordedTensor& ScriptImport::output(std::size_t which) const {
  return pass_.tensors[static_cast<std::size_t>(op_->outputs.at(which))];
}

void ScriptImport::set(std::size_t which, TracedValue value) {
  value.shape = output_shape(which);
  const bool fits = value.expanded ? value.view.dims.size() == value.shape.size()
                                   : value.kind != Kind::kData || value.view.sizes() == value.shape;
  if (!fits) {
    throw Unsupported("puts out " + shape_text(value.shape) + " where " + shape_text(value.view.sizes()) +
                      " was expected");
  }
  TracedValue& place = values_[static_cast<std::size_t>(op_->outputs[which])];
  value.read_once = place.read_once;
  place = std::move(value);
}

void ScriptImport::set_data(std::size_t which, View view, bool scaled) {
  TracedValue value;
  value.kind = Kind::kData;
  value.whole_numbers = output(which).dtype != "float";
  value.view = std::move(view);
  value.scaled = scaled;
  set(which, std::move(value));
}

View ScriptImport::data(const TracedValue& value) {
  if (value.kind == Kind::kScores) {
    const View scores = spelled_out(*this, *value.scores);
    return scores.sizes() == value.shape ? scores : reshaped(scores, value.shape);
  }
  if (value.kind == Kind::kState) {
    if (value.shape.size() != 3 || value.shape[0] != 1)
      throw Unsupported("reads the states of several layers");
    const std::int64_t length = draft.shape(value.view.node).dims[1];
    const View last = derived(Op::kSlice, straightened(value.view),
                              {{"axis", std::int64_t{1}}, {"start", length - 1}, {"end", length}}, {1});
    View state{last.node, {last.dims[1], last.dims[0], last.dims[2]}};
    if (state.sizes() != value.shape) throw Unsupported("reads the states of several layers");
    return state;
  }
  if (value.kind == Kind::kParameter) throw Unsupported("computes with trained tensors alone");
  if (value.kind != Kind::kData) throw Unsupported("reads what the network's input has no part in");
  if (value.expanded) throw Unsupported("reads an expanded tensor");
  if (!value.scaled) return value.view;
  return {draft.add_like(Op::kScale, value.view.node, {}, node_name(Op::kScale)), value.view.dims};
}

Straight ScriptImport::straightened(const View& view) {
  Straight result{{draft.arrange(view.node, draft.canonical(view), node_name(Op::kReshape)), view.dims}, {}};
  int next = 1;
  for (const Atoms& dim : view.dims) {
    const Atoms parts = draft.leaves(dim);
    const bool batch =
        std::any_of(parts.begin(), parts.end(), [](const Atom& a) { return a.id == kBatchAtom; });
    result.axes.push_back(batch ? 0 : next);
    if (!batch || parts.size() > 1) ++next;
  }
  return result;
}

Straight ScriptImport::straight(const TracedValue& value) { return straightened(data(value)); }

int ScriptImport::plain(const TracedValue& value) {
  const Straight in = straight(value);
  if (in.axes.empty() || in.axes[0] != 0 || draft.shape(in.view.node).dims.size() != in.axes.size())
    throw Unsupported("folds other dimensions into the batch");
  return in.view.node;
}

View ScriptImport::reshaped(const View& view, const Dims& shape) {
  View out;
  if (!draft.reshape(view, shape, out)) {
    throw Unsupported("makes " + shape_text(shape) + " of " + shape_text(view.sizes()) +
                      ", which cuts the batch or what belongs together");
  }
  return out;
}

int ScriptImport::axis(const Straight& in, std::int64_t dim) {
  const int axis = in.axes[normal_dim(dim, in.axes.size())];
  if (axis == 0) throw Unsupported("works along the batch");
  return axis;
}

std::string ScriptImport::node_name(Op op) const {
  // Of what a draft adds to move data it tells itself what it is.
  if (op == Op::kReshape) return op_->module.empty() ? plain_name(op_->op) : op_->module;
  if (op_->module.empty()) return name_of(op);
  return containers_.count(op_->module) || op == Op::kSlice ? op_->module + "." + name_of(op) : op_->module;
}

int ScriptImport::add(Op op, const std::vector<int>& inputs, Attrs attrs) {
  return draft.add(op, inputs, std::move(attrs), node_name(op));
}

void ScriptImport::elementwise(Op op, const TracedValue& in, Attrs attrs) {
  const View view = data(in);
  set_data(0, {draft.add_like(op, view.node, std::move(attrs), node_name(op)), view.dims});
}

View ScriptImport::derived(Op op, const Straight& in, Attrs attrs, const std::vector<int>& changed) {
  const int node = add(op, {in.view.node}, std::move(attrs));
  Arrangement layout = draft.layout(in.view.node);
  View out{node, in.view.dims};
  for (int axis : changed) {
    layout.at(static_cast<std::size_t>(axis)) = draft.layout(node).at(static_cast<std::size_t>(axis));
    const auto dim = std::find(in.axes.begin(), in.axes.end(), axis);
    if (dim == in.axes.end()) throw Unsupported("changes what is folded into the batch");
    out.dims[static_cast<std::size_t>(dim - in.axes.begin())] = layout[static_cast<std::size_t>(axis)];
  }
  draft.set_layout(node, std::move(layout));
  return out;
}

bool ScriptImport::first_use(const std::string& parameter) {
  return parameter.empty() || used_.insert(parameter).second;
}

void ScriptImport::note(const std::string& text) {
  auto& notes = result_.notes;
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

void ScriptImport::traced_for_inference() {
  result_.for_inference = true;
  note("traced in inference mode, which the file keeps: dropout and batch norms are taken as in training");
}

void ScriptImport::mark_unsupported(const std::string& why) {
  const TracedValue* first = nullptr;
  for (const auto& [name, argument] : op_->args.items()) {
    for (int t : tensors_of(argument)) {
      const TracedValue& v = values_[static_cast<std::size_t>(t)];
      if (is_live(v) && !first) first = &v;
    }
  }
  add_unsupported(result_.unsupported, op_->op, why, op_->module.empty() ? "the module itself" : op_->module);
  if (!options_.ignore_unsupported || !first || first->kind != Kind::kData || first->shape != output_shape())
    return;
  double count = 2;
  for (std::int64_t d : first->shape) count *= static_cast<double>(d);
  ignored_flops_ += count;
  set(0, TracedValue(*first));
}

// Masks, positions and noise are no part of the network, whatever they are computed from: only floats that
// come from the input are, and whole numbers on their way to an embedding.
void ScriptImport::convert(const RecordedOp& op) {
  op_ = &op;
  if (op.outputs.empty()) return;
  const std::string name = plain_name(op.op);
  bool live = false, floats = false, unknown = false, random = draws(name);
  const TracedValue* parameter = nullptr;
  for (const auto& [key, argument] : op.args.items()) {
    for (int t : tensors_of(argument)) {
      const TracedValue& v = values_[static_cast<std::size_t>(t)];
      unknown = unknown || v.kind == Kind::kUnknown;
      live = live || is_live(v);
      floats = floats || (is_live(v) && !v.whole_numbers);
      random = random || (v.kind == Kind::kConstant && v.random);
      if (v.kind == Kind::kParameter && (!parameter || key == "weight")) parameter = &v;
    }
  }
  const auto step = all_steps().find(name);
  const bool float_out = output().dtype == "float";
  if (unknown) {
    // Where that began was told already; what is not supported anyway is told too.
    if (float_out && step == all_steps().end() && !makes_tensors(name)) mark_unsupported("");
    return;
  }
  const bool moves_numbers = !floats && !float_out && shape_steps().count(name) > 0;
  if (!live || makes_tensors(name) || !(floats ? float_out : name == "embedding" || moves_numbers)) {
    TracedValue value;
    value.kind = parameter && !live ? Kind::kParameter : Kind::kConstant;
    value.random = random;
    if (value.kind == Kind::kParameter) {
      value.name = parameter->name;
      value.rows = name == "embedding" && !parameter->shape.empty() ? parameter->shape[0] : parameter->rows;
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      TracedValue one = value;
      // Parts of a parameter are weights of their own.
      if (parameter && elements(output_shape(i)) < elements(parameter->shape))
        one.name += "#" + std::to_string(op.outputs[i]);
      set(i, std::move(one));
    }
    return;
  }
  if (step == all_steps().end()) return mark_unsupported("");
  try {
    step->second(*this);
  } catch (const Unsupported& e) {
    mark_unsupported(e.what());
  } catch (const Error& e) {
    mark_unsupported(e.what());
  }
}

std::vector<int> ScriptImport::final_nodes() {
  const RecordedOp end{"output", "output", Json::object(), {}};
  op_ = &end;
  std::vector<int> nodes;
  bool lost = false;
  for (int t : pass_.outputs) {
    const TracedValue& v = values_[static_cast<std::size_t>(t)];
    lost = lost || v.kind == Kind::kUnknown;
    // A recurrent layer's states are what its output ends with.
    if (!is_live(v) || v.kind == Kind::kState || v.whole_numbers) continue;
    const int node = straight(v).view.node;
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
  if (!nodes.empty()) return nodes;
  throw bad_input(where_ + (lost ? ": nothing is left of the network without the ops that are not supported"
                                 : ": no output of float numbers is computed from the inputs"));
}

void ScriptImport::count_weights() {
  const double weights = network_cost(result_.network, pass_.batch).parameters;
  if (weights == pass_.parameters || !result_.unsupported.empty()) return;
  const auto text = [](double count) { return std::to_string(static_cast<std::int64_t>(count)); };
  note("the file holds " + text(pass_.parameters) + " weights and the network " + text(weights) +
       (weights < pass_.parameters ? ": the others take no part in the forward pass" : ""));
}

Imported ScriptImport::run(const std::string& name) {
  for (const RecordedOp& op : pass_.ops) convert(op);
  if (!options_.ignore_unsupported) refuse(result_.unsupported, where_);
  std::vector<int> outputs;
  try {
    outputs = final_nodes();
  } catch (const Unsupported& e) {
    throw bad_input(where_ + ": the network's output cannot be trained: " + e.what());
  }
  for (int node : int_inputs_) {
    if (std::get<std::int64_t>(draft.get(node, "classes")) == kMaxWidth)
      draft.set(node, "classes", std::int64_t{2});
  }
  result_.network = draft.finish(name, outputs);
  if (ignored_flops_ > 0) {
    const double known = network_cost(result_.network, pass_.batch).forward_flops;
    result_.ignored_flops_share = ignored_flops_ / (known + ignored_flops_);
  }
  count_weights();
  return std::move(result_);
}

Dims shortest(const Dims& values) {
  const bool alike = !values.empty() && std::count(values.begin(), values.end(), values[0]) ==
                                            static_cast<std::ptrdiff_t>(values.size());
  return alike ? Dims{values[0]} : values;
}

std::size_t normal_dim(std::int64_t dim, std::size_t rank) {
  const std::int64_t at = dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim;
  if (at < 0 || at >= static_cast<std::int64_t>(rank))
    throw Unsupported("has no dimension " + std::to_string(dim));
  return static_cast<std::size_t>(at);
}

std::int64_t size_at(const Dims& shape, std::size_t dim) {
  if (dim >= shape.size()) throw Unsupported("has no dimension " + std::to_string(dim));
  return shape[dim];
}

}  // namespace ampere::script

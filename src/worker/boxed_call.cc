#include "worker/boxed_call.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"

namespace ampere::worker {
namespace {

using c10::IValue;
using c10::TypeKind;

constexpr int kMostListed = 100000;

// Calls whose kernels the framework chooses, with autograd.
bool is_recurrent(const std::string& op) {
  return op == "aten::lstm" || op == "aten::gru" || op == "aten::rnn_tanh" || op == "aten::rnn_relu";
}
bool is_chosen_by_framework(const BoxedCall& call) {
  return call.op == "aten::scaled_dot_product_attention" || is_recurrent(call.op);
}

c10::OperatorHandle find(const BoxedCall& call) {
  // What touches files is no part of a training step.
  static const std::set<std::string> kRefused = {"aten::from_file", "aten::save", "aten::load"};
  if (call.op.rfind("aten::", 0) != 0 || kRefused.count(call.op) > 0)
    throw bad_input("calls: \"" + call.op + "\" is no aten op that can be called here");
  std::string overload = call.overload == "default" ? "" : call.overload;
  if (is_recurrent(call.op)) overload = "input";
  const auto found = c10::Dispatcher::singleton().findSchema({call.op, overload});
  if (!found)
    throw bad_input("calls: this LibTorch has no " + call.op + "." + call.overload +
                    "; capture with the version that trains");
  return *found;
}

void collect(const Json& value, std::vector<int>& numbers) {
  if (value.is_object()) {
    if (value.contains("t"))
      numbers.push_back(value.at("t").get<int>());
    else
      for (const auto& item : value.items()) collect(item.value(), numbers);
  } else if (value.is_array()) {
    for (const Json& item : value) collect(item, numbers);
  }
}

double real(const Json& value) {
  if (value.is_object() && value.contains("float")) {
    const std::string word = value.at("float").get<std::string>();
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  return value.get<double>();
}

c10::Layout layout(const std::string& name) {
  if (name == "strided") return c10::kStrided;
  throw bad_input("calls: layout \"" + name + "\" is not known");
}

c10::MemoryFormat memory_format(const std::string& name) {
  if (name == "contiguous_format") return c10::MemoryFormat::Contiguous;
  if (name == "preserve_format") return c10::MemoryFormat::Preserve;
  if (name == "channels_last") return c10::MemoryFormat::ChannelsLast;
  if (name == "channels_last_3d") return c10::MemoryFormat::ChannelsLast3d;
  throw bad_input("calls: memory format \"" + name + "\" is not known");
}

// What schemas have whole numbers for.
std::int64_t integer(const Json& value) {
  if (value.is_object()) {
    if (value.contains("dtype"))
      return static_cast<std::int64_t>(scalar_type(value.at("dtype").get<std::string>()));
    if (value.contains("layout"))
      return static_cast<std::int64_t>(layout(value.at("layout").get<std::string>()));
    if (value.contains("memory_format"))
      return static_cast<std::int64_t>(memory_format(value.at("memory_format").get<std::string>()));
  }
  return value.get<std::int64_t>();
}

class Reader {
 public:
  Reader(const Values& values, c10::Device place) : values_(values), place_(place) {}

  IValue read(const Json& value, const c10::TypePtr& type) const {
    if (value.is_null()) {
      // No bias of an attention comes as no tensor, where the schema of its gradient knows no optional one.
      return type->kind() == TypeKind::TensorType ? IValue(torch::Tensor()) : IValue();
    }
    switch (type->kind()) {
      case TypeKind::OptionalType:
        return read(value, type->castRaw<c10::OptionalType>()->getElementType());
      case TypeKind::TensorType:
        return tensor(value);
      case TypeKind::IntType:
        return integer(value);
      case TypeKind::FloatType:
        return real(value);
      case TypeKind::BoolType:
        return value.is_boolean() ? value.get<bool>() : value.get<int>() != 0;
      case TypeKind::StringType:
        return value.get<std::string>();
      case TypeKind::DeviceObjType:
        return value.at("device") == "cpu" ? c10::Device(c10::kCPU) : place_;
      case TypeKind::ListType:
        return list(value, type->castRaw<c10::ListType>()->getElementType());
      case TypeKind::GeneratorType:
        return {};
      default:
        return scalar(value);
    }
  }

  torch::Tensor tensor(const Json& value) const {
    if (!value.is_object()) return of_number(value);
    return values_.at(value.at("t").get<std::size_t>());
  }

 private:
  // A number where a tensor is wanted: it decides nothing about the type of the result.
  static torch::Tensor of_number(const Json& value) {
    const at::Scalar number = value.is_number_integer() ? at::Scalar(value.get<std::int64_t>())
                              : value.is_boolean()      ? at::Scalar(value.get<bool>())
                                                        : at::Scalar(real(value));
    torch::Tensor out = c10::scalar_to_tensor(number);
    out.unsafeGetTensorImpl()->set_wrapped_number(true);
    return out;
  }

  IValue scalar(const Json& value) const {
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_object() && value.contains("t")) return tensor(value);
    return real(value);
  }

  IValue list(const Json& value, const c10::TypePtr& element) const {
    if (!value.is_array()) {  // one number for all directions
      if (element->kind() == TypeKind::IntType) return c10::List<std::int64_t>({integer(value)});
      throw bad_input("calls: a list is wanted");
    }
    switch (element->kind()) {
      case TypeKind::IntType: {
        c10::List<std::int64_t> out;
        for (const Json& item : value) out.push_back(integer(item));
        return out;
      }
      case TypeKind::FloatType: {
        c10::List<double> out;
        for (const Json& item : value) out.push_back(real(item));
        return out;
      }
      case TypeKind::BoolType: {
        c10::List<bool> out;
        for (const Json& item : value) out.push_back(item.get<bool>());
        return out;
      }
      case TypeKind::TensorType: {
        c10::List<torch::Tensor> out;
        for (const Json& item : value) out.push_back(tensor(item));
        return out;
      }
      default: {
        c10::impl::GenericList out(element);
        for (const Json& item : value) out.push_back(read(item, element));
        return out;
      }
    }
  }

  const Values& values_;
  c10::Device place_;
};

void flatten(const IValue& value, std::vector<torch::Tensor>& out) {
  if (value.isTensor())
    out.push_back(value.toTensor());
  else if (value.isList())
    for (const IValue& item : value.toListRef()) flatten(item, out);
  else
    out.emplace_back();
}

void keep(const BoxedCall& call, const std::vector<torch::Tensor>& results, Values& values) {
  for (std::size_t i = 0; i < call.out.size() && i < results.size(); ++i) {
    if (call.out[i] >= 0) values[static_cast<std::size_t>(call.out[i])] = results[i];
  }
}

std::vector<torch::Tensor> call_boxed(const c10::OperatorHandle& op, std::vector<IValue> stack) {
  op.callBoxed(&stack);
  std::vector<torch::Tensor> results;
  for (const IValue& value : stack) flatten(value, results);
  return results;
}

std::vector<IValue> stack_for(const BoxedCall& call, const c10::OperatorHandle& op, const Reader& reader) {
  std::vector<IValue> stack;
  const auto& wanted = op.schema().arguments();
  if (call.args.size() > wanted.size()) throw bad_input("calls: " + call.op + " has too many arguments");
  for (const auto& item : call.kwargs.items()) {
    const auto named = [&](const c10::Argument& a) { return a.name() == item.key(); };
    if (!item.value().is_null() && std::none_of(wanted.begin(), wanted.end(), named))
      throw bad_input("calls: " + call.op + " has no argument " + item.key() + " in this LibTorch");
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const c10::Argument& argument = wanted[i];
    if (i < call.args.size())
      stack.push_back(reader.read(call.args[i], argument.type()));
    else if (call.kwargs.contains(argument.name()))
      stack.push_back(reader.read(call.kwargs.at(argument.name()), argument.type()));
    else if (argument.default_value())
      stack.push_back(*argument.default_value());
    else
      throw bad_input("calls: " + call.op + " lacks its argument " + argument.name());
  }
  return stack;
}

// The same with autograd, on leaves that want a gradient: so the framework chooses kernels for both passes.
void run_with_graph(const BoxedCall& call, Values& values, Graph& graph, c10::Device place) {
  const c10::OperatorHandle op = find(call);
  const Reader reader(values, place);
  graph = {};
  std::vector<IValue> rest;
  for (const Json& arg : call.args) {
    if (!arg.is_object() || !arg.contains("t")) {
      if (arg.is_null()) graph.leaves.emplace_back();
      continue;
    }
    torch::Tensor leaf = reader.tensor(arg).detach();
    if (!call.autocast.empty()) leaf = leaf.to(scalar_type(call.autocast));
    if (leaf.is_floating_point()) leaf.requires_grad_();
    graph.leaves.push_back(leaf);
  }
  const at::AutoGradMode with_gradient(true);
  std::vector<IValue> stack;
  if (is_recurrent(call.op)) {
    const std::size_t states = call.op == "aten::lstm" ? 2 : 1;
    if (call.kwargs.value("states", std::int64_t{1}) != static_cast<std::int64_t>(states) ||
        graph.leaves.size() < 1 + states)
      throw bad_input("calls: " + call.op + " lacks its states");
    stack.emplace_back(graph.leaves[0]);
    if (call.op == "aten::lstm")
      stack.emplace_back(
          c10::List<torch::Tensor>(c10::ArrayRef<torch::Tensor>(graph.leaves).slice(1, states)));
    else
      stack.emplace_back(graph.leaves[1]);
    stack.emplace_back(
        c10::List<torch::Tensor>(c10::ArrayRef<torch::Tensor>(graph.leaves).slice(1 + states)));
    const auto& wanted = op.schema().arguments();
    for (std::size_t i = graph.leaves.size(); i < call.args.size() && stack.size() < wanted.size(); ++i)
      stack.push_back(reader.read(call.args[i], wanted[stack.size()].type()));
  } else {
    stack = stack_for(call, op, reader);
    for (std::size_t i = 0; i < graph.leaves.size() && i < stack.size(); ++i) {
      if (graph.leaves[i].defined()) stack[i] = graph.leaves[i];
    }
  }
  graph.results = call_boxed(op, std::move(stack));
  std::vector<torch::Tensor> detached;
  for (const torch::Tensor& r : graph.results) detached.push_back(r.defined() ? r.detach() : r);
  keep(call, detached, values);
}

void run_gradient(const BoxedCall& call, Values& values, Graph& graph, c10::Device place) {
  const Reader reader(values, place);
  std::vector<torch::Tensor> roots, gradients, wanted;
  for (std::size_t i = 0; i < call.args.size() && i < graph.results.size(); ++i) {
    if (call.args[i].is_null() || !graph.results[i].requires_grad()) continue;
    roots.push_back(graph.results[i]);
    gradients.push_back(reader.tensor(call.args[i]).to(graph.results[i].scalar_type()));
  }
  for (std::size_t i = 0; i < call.out.size() && i < graph.leaves.size(); ++i) {
    if (call.out[i] >= 0) wanted.push_back(graph.leaves[i]);
  }
  const auto found = torch::autograd::grad(roots, wanted, gradients, /*retain_graph=*/{},
                                           /*create_graph=*/false, /*allow_unused=*/true);
  std::size_t next = 0;
  for (std::size_t i = 0; i < call.out.size() && i < graph.leaves.size(); ++i) {
    if (call.out[i] >= 0) values[static_cast<std::size_t>(call.out[i])] = found[next++];
  }
  graph = {};
}

}  // namespace

c10::ScalarType scalar_type(const std::string& name) {
  static const std::map<std::string, c10::ScalarType> types = {
      {"float32", c10::kFloat},     {"float64", c10::kDouble}, {"float16", c10::kHalf},
      {"bfloat16", c10::kBFloat16}, {"int64", c10::kLong},     {"int32", c10::kInt},
      {"int16", c10::kShort},       {"int8", c10::kChar},      {"uint8", c10::kByte},
      {"bool", c10::kBool}};
  const auto found = types.find(name);
  if (found == types.end()) throw bad_input("calls: type \"" + name + "\" is not known");
  return found->second;
}

BoxedCall boxed_call_from_json(const Json& json, int place, std::size_t tensors, const std::string& where) {
  const JsonReader r(json, where);
  r.only({"op", "overload", "args", "kwargs", "out", "autocast", "of"});
  BoxedCall call;
  call.op = r.text("op");
  call.overload = r.text("overload", "default");
  call.args = r.array("args");
  call.kwargs = r.has("kwargs") ? r.object("kwargs") : Json::object();
  call.autocast = r.text("autocast", "");
  call.gradient_of = static_cast<int>(r.integer_between("of", -1, -1, kMostListed));
  call.place = place;
  for (const Json& number : r.array("out")) call.out.push_back(number.is_null() ? -1 : number.get<int>());
  const auto require = [&](int number, int least) {
    if (number < least || number >= static_cast<int>(tensors))
      throw bad_input(where + ": there is no tensor " + std::to_string(number));
  };
  for (const int n : tensors_read(call)) require(n, 0);
  for (const int n : call.out) require(n, -1);  // -1: nobody wants it
  return call;
}

std::vector<int> tensors_read(const BoxedCall& call) {
  std::vector<int> numbers;
  collect(call.args, numbers);
  collect(call.kwargs, numbers);
  return numbers;
}

void require_known(const BoxedCall& call) {
  if (call.gradient_of < 0) find(call);
}

static void run_unchecked(const BoxedCall& call, Values& values, std::map<int, Graph>& graphs,
                          c10::Device place) {
  if (call.gradient_of >= 0) {
    run_gradient(call, values, graphs[call.gradient_of], place);
  } else if (is_chosen_by_framework(call)) {
    run_with_graph(call, values, graphs[call.place], place);
  } else {
    const c10::OperatorHandle op = find(call);
    keep(call, call_boxed(op, stack_for(call, op, Reader(values, place))), values);
  }
  for (const int n : call.done) values[static_cast<std::size_t>(n)] = torch::Tensor();
}

void run(const BoxedCall& call, Values& values, std::map<int, Graph>& graphs, c10::Device place) {
  try {
    run_unchecked(call, values, graphs, place);
  } catch (const Json::exception&) {
    throw bad_input("calls: an argument of " + call.op + " is of the wrong type");
  }
}

}  // namespace ampere::worker

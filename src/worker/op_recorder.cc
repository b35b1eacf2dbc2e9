#include "worker/op_recorder.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace ampere::worker {
namespace {

constexpr int kMaxDepth = 8;            // of lists within lists
constexpr std::size_t kMaxList = 4096;  // numbers of one argument
constexpr std::size_t kMaxText = 200;

// A callback is a plain function, so what it tells must be reachable from everywhere.
std::atomic<OpRecorder*> listening{nullptr};

std::string dtype_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return "other";
  if (tensor.scalar_type() == at::kBool) return "bool";
  if (at::isIntegralType(tensor.scalar_type(), false)) return "int";
  return tensor.is_floating_point() ? "float" : "other";
}

}  // namespace

struct Callbacks {
  static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& call) {
    if (OpRecorder* recorder = listening.load()) recorder->enter(call);
    return nullptr;
  }
  static void end(const at::RecordFunction& call, at::ObserverContext*) {
    if (OpRecorder* recorder = listening.load()) recorder->leave(call);
  }
};

OpRecorder::OpRecorder(const torch::jit::Module& module, std::int64_t batch)
    : thread_(std::this_thread::get_id()) {
  pass_.batch = batch;
  if (module.type()->name()) pass_.name = module.type()->name()->name();
  for (const auto& m : module.named_modules()) paths_[m.value._ivalue().get()] = m.name;
  for (const auto& p : module.named_parameters(true)) {
    if (!p.value.defined() || indices_.count(p.value.unsafeGetTensorImpl())) continue;
    add_tensor(p.value, TensorRole::kParameter, p.name);
    pass_.parameters += static_cast<double>(p.value.numel());
  }
  for (const auto& b : module.named_buffers(true)) {
    if (!b.value.defined() || indices_.count(b.value.unsafeGetTensorImpl())) continue;
    add_tensor(b.value, TensorRole::kBuffer, b.name);
  }
  listening = this;
  handle_ =
      at::addGlobalCallback(at::RecordFunctionCallback(&Callbacks::start, &Callbacks::end)
                                .needsInputs(true)
                                .needsOutputs(true)
                                .scopes({at::RecordScope::FUNCTION, at::RecordScope::TORCHSCRIPT_FUNCTION}));
}

OpRecorder::~OpRecorder() {
  listening = nullptr;
  at::removeCallback(handle_);
}

int OpRecorder::add_tensor(const at::Tensor& tensor, TensorRole role, const std::string& name) {
  const int index = static_cast<int>(pass_.tensors.size());
  pass_.tensors.push_back({{}, dtype_of(tensor), role, name, 0});
  if (!tensor.defined()) return index;
  pass_.tensors.back().shape = tensor.sizes().vec();
  // An op in place puts out the tensor it read: from now on its address means the new value.
  indices_[tensor.unsafeGetTensorImpl()] = index;
  seen_.emplace_back(tensor.getIntrusivePtr());
  return index;
}

void OpRecorder::add_input(const at::Tensor& tensor, int batch_axis) {
  pass_.inputs.push_back(add_tensor(tensor, TensorRole::kInput, ""));
  pass_.tensors.back().batch_axis = batch_axis;
}

int OpRecorder::index_of(const at::Tensor& tensor) {
  const auto found = indices_.find(tensor.unsafeGetTensorImpl());
  return found != indices_.end() ? found->second : add_tensor(tensor, TensorRole::kConstant, "");
}

Json OpRecorder::argument(const c10::IValue& value, int depth) {
  if (value.isNone()) return nullptr;
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble() && std::isfinite(value.toDouble())) return value.toDouble();
  if (value.isString()) return value.toStringRef().substr(0, kMaxText);
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return nullptr;
    return {{"tensor", index_of(value.toTensor())}};
  }
  if (value.isList() && depth < kMaxDepth && value.toListRef().size() <= kMaxList) {
    Json list = Json::array();
    for (const c10::IValue& one : value.toListRef()) list.push_back(argument(one, depth + 1));
    return list;
  }
  return {{"other", value.tagKind()}};
}

void OpRecorder::enter(const at::RecordFunction& call) {
  if (std::this_thread::get_id() != thread_) {
    // Inside an op other threads may well help; between ops they run a part of the module (torch.jit.fork).
    if (call.scope() == at::RecordScope::TORCHSCRIPT_FUNCTION) other_threads_ = true;
    return;
  }
  if (call.scope() == at::RecordScope::TORCHSCRIPT_FUNCTION) {
    std::string path = callers_.empty() ? "" : callers_.back();
    if (!call.inputs().empty() && call.inputs()[0].isObject()) {
      const auto found = paths_.find(call.inputs()[0].toObject().get());
      if (found != paths_.end()) path = found->second;
    }
    callers_.push_back(std::move(path));
    return;
  }
  if (depth_++ == 0 && !too_many_) begin_op(call);
}

void OpRecorder::leave(const at::RecordFunction& call) {
  if (std::this_thread::get_id() != thread_) return;
  if (call.scope() == at::RecordScope::TORCHSCRIPT_FUNCTION) {
    if (!callers_.empty()) callers_.pop_back();
    return;
  }
  if (depth_ > 0 && --depth_ == 0 && !too_many_) end_op(call);
}

void OpRecorder::begin_op(const at::RecordFunction& call) {
  if (pass_.ops.size() >= kMaxRecordedOps) {
    too_many_ = true;
    return;
  }
  op_ = {call.name(), callers_.empty() ? "" : callers_.back(), Json::object(), {}};
  const auto schema = call.operator_schema();
  const auto inputs = call.inputs();
  // The interpreter hands its whole stack over; the op's own arguments lie on top.
  const std::size_t count = schema ? std::min(schema->arguments().size(), inputs.size()) : inputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = schema ? schema->arguments()[i].name() : "arg" + std::to_string(i);
    op_.args[name] = argument(inputs[inputs.size() - count + i], 0);
  }
  returns_ = schema ? schema->returns().size() : std::numeric_limits<std::size_t>::max();
}

void OpRecorder::add_outputs(const c10::IValue& value, std::vector<int>& outputs, int depth) {
  if (value.isTensor()) {
    outputs.push_back(add_tensor(value.toTensor(), TensorRole::kValue, ""));
  } else if (value.isList() && depth < kMaxDepth) {
    for (const c10::IValue& one : value.toListRef()) add_outputs(one, outputs, depth + 1);
  }
}

void OpRecorder::end_op(const at::RecordFunction& call) {
  const auto& outputs = call.outputs();
  for (std::size_t i = outputs.size() - std::min(returns_, outputs.size()); i < outputs.size(); ++i)
    add_outputs(outputs[i], op_.outputs, 0);
  pass_.ops.push_back(std::move(op_));
}

namespace {

// What a module returns may be anything; only its tensors matter.
void flatten(const c10::IValue& value, std::vector<at::Tensor>& found, int depth) {
  if (depth > kMaxDepth || found.size() > kMaxList) return;
  if (value.isTensor() && value.toTensor().defined()) {
    found.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const c10::IValue& one : value.toTupleRef().elements()) flatten(one, found, depth + 1);
  } else if (value.isList()) {
    for (const c10::IValue& one : value.toListRef()) flatten(one, found, depth + 1);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) flatten(entry.value(), found, depth + 1);
  } else if (value.isObject()) {
    for (const c10::IValue& slot : value.toObjectRef().slots()) flatten(slot, found, depth + 1);
  }
}

}  // namespace

RecordedPass OpRecorder::finish(const c10::IValue& output) {
  listening = nullptr;
  if (too_many_) {
    throw bad_input("it calls more than " + std::to_string(kMaxRecordedOps) +
                    " ops in one forward pass, which cannot be a network to estimate");
  }
  if (other_threads_) throw bad_input("it runs parts of itself in other threads (torch.jit.fork)");
  std::vector<at::Tensor> returned;
  flatten(output, returned, 0);
  for (const at::Tensor& tensor : returned) {
    const auto found = indices_.find(tensor.unsafeGetTensorImpl());
    if (found != indices_.end()) pass_.outputs.push_back(found->second);
  }
  if (pass_.outputs.empty()) throw bad_input("its forward pass returns no tensor that it computed");
  return std::move(pass_);
}

}  // namespace ampere::worker

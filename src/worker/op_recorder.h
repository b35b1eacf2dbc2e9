// Watches which ops a TorchScript module calls, and on which tensors.
#pragma once

#include <torch/script.h>

#include <cstdint>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "network/recorded_pass.h"

namespace at {
class RecordFunction;
struct ObserverContext;
}  // namespace at

namespace ampere::worker {

// While one lives, the outermost ops that its thread calls are recorded. One at a time.
class OpRecorder {
 public:
  OpRecorder(const torch::jit::Module& module, std::int64_t batch);
  ~OpRecorder();
  OpRecorder(const OpRecorder&) = delete;
  OpRecorder& operator=(const OpRecorder&) = delete;

  // A tensor that the module will be given.
  void add_input(const at::Tensor& tensor, int batch_axis);
  // What was recorded, once the module has returned `output`. Throws Error{kBadInput} when it called too many
  // ops, or some in other threads.
  RecordedPass finish(const c10::IValue& output);

 private:
  friend struct Callbacks;
  void enter(const at::RecordFunction& call);
  void leave(const at::RecordFunction& call);
  void begin_op(const at::RecordFunction& call);
  void end_op(const at::RecordFunction& call);
  int index_of(const at::Tensor& tensor);
  int add_tensor(const at::Tensor& tensor, TensorRole role, const std::string& name);
  void add_outputs(const c10::IValue& value, std::vector<int>& outputs, int depth);
  Json argument(const c10::IValue& value, int depth);

  RecordedPass pass_;
  std::unordered_map<const c10::TensorImpl*, int> indices_;
  // Keeps the addresses of tensors from being used again, without keeping their memory.
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> seen_;
  std::unordered_map<const void*, std::string> paths_;  // of the submodules
  std::vector<std::string> callers_;                    // the modules whose code runs now
  std::thread::id thread_;
  std::uint64_t handle_ = 0;
  int depth_ = 0;  // of ops within ops
  RecordedOp op_;
  std::size_t returns_ = 0;  // values that the op puts out
  bool too_many_ = false;
  bool other_threads_ = false;
};

}  // namespace ampere::worker

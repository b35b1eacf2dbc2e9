// What a call takes of memory besides the tensors that it reads and makes: space to work in, and what the
// framework keeps of it for its gradient. These are facts about frameworks, found by watching their
// allocators (docs/boards_realities.md).
#pragma once

#include <string>

#include "base/json.h"
#include "work/call_tensors.h"

namespace ampere {

struct AllocatorStyle {
  double rounding = 1;       // sizes are made whole multiples of this many bytes
  bool accelerator = false;  // cuDNN, and attention that keeps no scores
  bool fused_attention = true;
  bool onednn_lstm = true;    // of LibTorch and PyTorch from 2 on, on processors
  double channel_block = 16;  // of oneDNN within LibTorch and PyTorch on processors (AVX-512); 0: none
  double libraries = 0;       // bytes that the libraries of the device take once there are matrix products
};
// By what a device's fingerprint says: type, framework, name.
AllocatorStyle allocator_style_of(const Json& fingerprint);

struct CallMemory {
  double within = 0;  // while the call runs
  double kept = 0;    // from a forward call until its gradient is computed
};
CallMemory memory_of_call(const AtenCall& call, const AllocatorStyle& style);

// Whether what it makes is another look at the memory of its first argument.
bool only_looks(const std::string& op);

}  // namespace ampere

// One aten call by name, overload and arguments: whatever the framework can do needs no translation.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace ampere::worker {

// Tensors by number; undefined where nothing is yet.
using Values = std::vector<torch::Tensor>;

// What autograd remembers of a call that it chose the kernels of.
struct Graph {
  std::vector<torch::Tensor> leaves, results;
};

struct BoxedCall {
  std::string op, overload;
  Json args, kwargs;
  std::vector<int> out;  // -1: not a tensor, or not wanted
  std::string
      autocast;  // of a call whose kernels the framework chooses: the type that its inputs are cast to
  int gradient_of = -1;   // of a forward call, by its place
  int place = 0;          // among the calls of its pass
  std::vector<int> done;  // tensors that nobody needs after it
};

// Throws Error{kBadInput}. `tensors`: how many there are.
BoxedCall boxed_call_from_json(const Json& json, int place, std::size_t tensors, const std::string& where);
std::vector<int> tensors_read(const BoxedCall& call);
// Throws Error{kBadInput} when this LibTorch has no such op.
void require_known(const BoxedCall& call);

// Computes it and puts the results where they belong. `graphs` by the place of the forward call.
void run(const BoxedCall& call, Values& values, std::map<int, Graph>& graphs, c10::Device place);

// torch.float32 and the like, by name.
c10::ScalarType scalar_type(const std::string& name);

}  // namespace ampere::worker

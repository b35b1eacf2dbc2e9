// A network of ops -> the calls that PyTorch makes to train it for one step, told without PyTorch.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "network/network.h"

namespace ampere {

// Frameworks do the same in different words.
struct CallStyle {
  bool accelerator = false;       // its own lists for autocast, and its own dropout
  bool updates_together = false;  // the optimizer goes over all weights at once (PyTorch on accelerators)
  bool fused_attention = true;    // LibTorch before 2.0 has none, and it is spelled out
};

struct StepStyle {
  CallStyle calls;
  bool half = false;  // autocast to bfloat16
  // "sgd", "momentum", "adam"; weights are not updated for others.
  std::string optimizer = "sgd";
  bool input_gradient = false;  // handed down to what comes before
  bool loss = false;            // computed from the output; else its gradient is given
};

struct StepCalls {
  Json body;                                 // as below
  std::vector<int> memories;                 // for each tensor, the first that lies in the same memory
  std::vector<std::pair<int, int>> trained;  // weights and their gradients
};
StepCalls step_of_network(const Network& network, std::int64_t batch, const StepStyle& style);

// The object that the text of captured calls holds (docs/capture.md). Throws Error{kBadInput} for networks
// whose shapes do not fit.
Json calls_of_network(const Network& network, std::int64_t batch, const StepStyle& style);

}  // namespace ampere

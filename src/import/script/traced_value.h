// What a tensor of a recorded pass is to the network made of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "import/network_draft.h"

namespace ampere::script {

struct Scores;

struct TracedValue {
  enum class Kind {
    kUnknown,    // behind an op that is not supported
    kData,       // computed from the network's input: `view` says where
    kParameter,  // trained, or made of what is trained alone
    kConstant,   // neither; also masks and positions that depend on whole numbers only
    kScores,     // a product of two tensors that may become attention
    kState,      // last hidden state of a recurrent layer, whose output is `view`
  };
  Kind kind = Kind::kUnknown;
  std::vector<std::int64_t> shape;
  View view;
  std::string name;       // of a parameter
  std::int64_t rows = 0;  // of the table that a parameter was looked up in
  bool random = false;    // of a constant: drawn anew in each pass
  bool whole_numbers = false;
  bool expanded = false;  // of data: repeated along dimensions that its view has once only
  bool scaled = false;    // of data: still to be multiplied by a number, which attention does in passing
  bool read_once = false;
  std::shared_ptr<const Scores> scores;
  int state_layers = 1;
  bool state_bidirectional = false;
};

// Query times key, and what was done to it since. Becomes attention_core when it is multiplied with values,
// and is spelled out when anything else happens to it.
struct Scores {
  TracedValue left, right;
  std::string mask = "none";
  bool scaled = false;
  bool softmax = false;
  double dropout = 0;
  std::string name;
  int depth = 1;  // of products of products
};

}  // namespace ampere::script

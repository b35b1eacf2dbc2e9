// What an output is trained against.
#pragma once

#include "onednn/graph.h"

namespace ampere::onednn {

// Cross-entropy over the last dimension against random classes for outputs (N, K) and (N, L, K) with K > 1,
// else mean squared error against random numbers; drawn once.
class Loss {
 public:
  Loss(Value& output, std::mt19937_64& random);

  // The loss of what the output holds now; writes the gradient too, where it is wanted.
  double forward();

 private:
  double cross_entropy();
  double squared_error();

  Value& output_;
  bool by_classes_;
  Buffer target_;
};

}  // namespace ampere::onednn

// One step of the forward pass, and the same step of the backward pass.
#pragma once

#include <vector>

#include "onednn/value.h"

namespace ampere::onednn {

// Weights are inputs like any other. Every value is put out by one operation at most.
class Operation {
 public:
  virtual ~Operation() = default;

  // Called once, when it is known which gradients are wanted.
  virtual void prepare() {}
  virtual void forward() = 0;
  // Reads the gradient of the output and writes (does not add) those of the inputs, each to its sink().
  virtual void backward() = 0;

  std::vector<Value*> inputs;
  Value* output = nullptr;
  // Where the gradient of each input goes, set by the graph; null where nobody wants it.
  std::vector<float*> sinks;

 protected:
  float* sink(std::size_t i) const { return sinks[i]; }
  const float* x(std::size_t i = 0) const { return inputs[i]->data.data(); }
  float* y() const { return output->data.data(); }
  const float* gradient() const { return output->gradient.data(); }
};

}  // namespace ampere::onednn

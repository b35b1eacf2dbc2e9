// One step along the gradients.
#pragma once

#include <string>
#include <vector>

#include "onednn/value.h"

namespace ampere::onednn {

class Optimizer {
 public:
  // "sgd", "momentum" (0.9) or "adam", with the defaults of PyTorch.
  Optimizer(std::string name, double rate, const std::vector<Value*>& parameters);

  void step();

 private:
  void step_momentum(const Value& parameter, float* velocity) const;
  void step_adam(const Value& parameter, float* first, float* second) const;

  std::string name_;
  float rate_;
  std::vector<Value*> parameters_;
  std::vector<Buffer> first_, second_;  // what is remembered of each parameter's gradients
  long steps_ = 0;
};

}  // namespace ampere::onednn

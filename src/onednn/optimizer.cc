#include "onednn/optimizer.h"

#include <cmath>

namespace ampere::onednn {
namespace {

constexpr float kMomentum = 0.9F, kBeta1 = 0.9F, kBeta2 = 0.999F, kSmall = 1e-8F;

}  // namespace

Optimizer::Optimizer(std::string name, double rate, const std::vector<Value*>& parameters)
    : name_(std::move(name)), rate_(static_cast<float>(rate)), parameters_(parameters) {
  if (name_ == "sgd") return;
  for (const Value* p : parameters_) {
    first_.emplace_back(p->elements());
    if (name_ == "adam") second_.emplace_back(p->elements());
  }
}

void Optimizer::step_momentum(const Value& parameter, float* velocity) const {
  float* p = parameter.data.data();
  const float* g = parameter.gradient.data();
  for (std::int64_t i = 0; i < parameter.elements(); ++i) {
    velocity[i] = kMomentum * velocity[i] + g[i];
    p[i] -= rate_ * velocity[i];
  }
}

void Optimizer::step_adam(const Value& parameter, float* first, float* second) const {
  float* p = parameter.data.data();
  const float* g = parameter.gradient.data();
  const float bias1 = 1 - std::pow(kBeta1, static_cast<float>(steps_));
  const float bias2 = std::sqrt(1 - std::pow(kBeta2, static_cast<float>(steps_)));
  for (std::int64_t i = 0; i < parameter.elements(); ++i) {
    first[i] = kBeta1 * first[i] + (1 - kBeta1) * g[i];
    second[i] = kBeta2 * second[i] + (1 - kBeta2) * g[i] * g[i];
    p[i] -= rate_ / bias1 * first[i] / (std::sqrt(second[i]) / bias2 + kSmall);
  }
}

void Optimizer::step() {
  ++steps_;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const Value& parameter = *parameters_[k];
    if (name_ == "adam") {
      step_adam(parameter, first_[k].data(), second_[k].data());
    } else if (name_ == "momentum") {
      step_momentum(parameter, first_[k].data());
    } else {
      float* p = parameter.data.data();
      const float* g = parameter.gradient.data();
      for (std::int64_t i = 0; i < parameter.elements(); ++i) p[i] -= rate_ * g[i];
    }
  }
}

}  // namespace ampere::onednn

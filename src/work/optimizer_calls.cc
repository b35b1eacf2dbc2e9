#include "work/optimizer_calls.h"

#include <utility>

namespace ampere {
namespace {

using T = CallTape::T;
using Tensors = std::vector<T>;

class Updates {
 public:
  Updates(CallTape& tape, const std::string& optimizer, bool together)
      : tape_(tape), optimizer_(optimizer), together_(together) {}

  void make() {
    Tensors weights, gradients;
    for (const CallTape::Update& u : tape_.updates()) {
      if (!together_) update({u.weight}, {u.gradient});
      weights.push_back(u.weight);
      gradients.push_back(u.gradient);
    }
    if (together_ && !weights.empty()) update(weights, gradients);
  }

 private:
  Tensors states_of(const Tensors& weights) {
    Tensors out;
    for (const T w : weights) out.push_back(tape_.like(w));
    return out;
  }

  // In place, unless it says what it makes.
  void step(const std::string& op, const std::vector<Tensors>& reads, const Tensors& made = {}) {
    Json args = Json::array();
    for (const Tensors& list : reads)
      args.push_back(together_ ? CallTape::arguments(list) : CallTape::argument(list[0]));
    Tensors out = made;
    if (out.empty() && !together_) out = {reads[0][0]};
    tape_.call(((together_ ? "_foreach_" : "") + op).c_str(), std::move(args), out);
  }

  void update(const Tensors& weights, const Tensors& gradients) {
    if (optimizer_ == "sgd") {
      step("add_", {weights, gradients});
    } else if (optimizer_ == "momentum") {
      const Tensors momenta = states_of(weights);
      step("mul_", {momenta});
      step("add_", {momenta, gradients});
      step("add_", {weights, momenta});
    } else if (optimizer_ == "adam") {
      adam(weights, gradients);
    }
  }

  void adam(const Tensors& weights, const Tensors& gradients) {
    const Tensors means = states_of(weights), squares = states_of(weights);
    Tensors steps;
    for (std::size_t i = 0; i < weights.size(); ++i) steps.push_back(tape_.tensor({}));
    if (together_) {
      tape_.call("_foreach_add_",
                 Json::array({CallTape::arguments(steps), CallTape::argument(tape_.tensor({}))}),
                 {CallTape::kNone});
    } else {
      step("add_", {steps});
    }
    step("lerp_", {means, gradients});
    step("mul_", {squares});
    step("addcmul_", {squares, gradients, gradients});
    Tensors roots = states_of(weights);
    step("sqrt", {squares}, roots);
    if (together_) {
      step("div_", {roots});
    } else {
      const Tensors divided = states_of(weights);
      step("div", {roots}, divided);
      roots = divided;
    }
    step("add_", {roots});
    step("addcdiv_", {weights, means, roots});
  }

  CallTape& tape_;
  const std::string& optimizer_;
  bool together_;
};

}  // namespace

void add_update_calls(CallTape& tape, const std::string& optimizer, bool together) {
  Updates(tape, optimizer, together).make();
}

}  // namespace ampere

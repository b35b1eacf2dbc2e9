// FLOPs, bytes and parameters of a layer kind as functions of its channels, cheap enough to call millions of
// times.
#pragma once

#include <array>

#include "layers/layer_kind.h"

namespace ampere {

// Every op's cost is a polynomial of at most second degree in (in, out), so a few exact evaluations
// determine it.
class CostPolynomial {
 public:
  CostPolynomial(const LayerKind& kind, bool input_grad);

  double flops(Channels c) const { return evaluate(flops_, c); }
  double bytes(Channels c) const { return evaluate(bytes_, c); }
  double parameters(Channels c) const { return evaluate(parameters_, c); }

 private:
  using Coefficients = std::array<double, 6>;  // 1, in, out, in * out, in^2, out^2
  static double evaluate(const Coefficients& k, Channels c) {
    const auto i = static_cast<double>(c.in);
    const auto o = static_cast<double>(c.out);
    return k[0] + k[1] * i + k[2] * o + k[3] * i * o + k[4] * i * i + k[5] * o * o;
  }

  Coefficients flops_{};
  Coefficients bytes_{};
  Coefficients parameters_{};
};

}  // namespace ampere

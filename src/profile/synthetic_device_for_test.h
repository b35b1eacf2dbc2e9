// A device without noise on which every layer costs exactly a + b FLOPs + c bytes, for tests.
#pragma once

#include <functional>

#include "layers/parse.h"
#include "protocol/messages.h"

namespace ampere {

struct SyntheticDevice {
  double fixed_s = 2e-6;  // of an iteration without layers
  double per_layer_s = 5e-6;
  double per_flop_s = 1e-11;
  double per_byte_s = 3e-11;
  double watts = 20;
  int measured = 0;
  std::function<void(const MeasureRequest&)> before;  // may throw

  Measurement operator()(const MeasureRequest& request) {
    if (before) before(request);
    ++measured;
    double seconds = fixed_s;
    // A probe is one layer whose flags say what its neighbours would do; a whole network is its layers.
    const bool whole = request.loss && !request.input_grad;
    if (whole) {
      for (const Layer& layer : parse_layers(request.network, request.batch)) seconds += cost_s(layer.cost);
    } else if (request.network.nodes().size() > 1) {
      seconds += cost_s(network_cost(request.network, request.batch, request.input_grad));
    }
    Measurement m;
    m.time_s = seconds;
    m.energy_j = watts * seconds;
    m.windows = 5;
    m.iterations = 100;
    m.stable = true;
    m.modelled = true;
    m.meter = "synthetic";
    m.mode = "eager";
    return m;
  }

 private:
  double cost_s(const Cost& cost) const {
    return per_layer_s + per_flop_s * cost.flops() + per_byte_s * cost.bytes();
  }
};

}  // namespace ampere

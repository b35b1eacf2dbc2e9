// A device without noise on which every layer costs exactly a + b FLOPs + c bytes, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>

#include "layers/parse.h"
#include "measure/measurement.h"
#include "measure/request.h"

namespace ampere {

struct SyntheticDevice {
  double fixed_s = 2e-6;  // of an iteration without layers
  double per_layer_s = 5e-6;
  double per_flop_s = 1e-11;
  double per_byte_s = 3e-11;
  double watts = 20;
  int measured = 0;
  std::function<void(const MeasureRequest&)> before;  // may throw

  // An accelerator besides: replays have no fixed cost, the host issues every layer, and while the device
  // waits for it, it draws idle_w.
  bool accelerator = false;
  double host_fixed_s = 60e-6;
  double host_per_layer_s = 200e-6;
  double idle_w = 8;
  // Some kernels are slower than others, by this factor, as the channels happen to fall.
  double rough = 1;

  Measurement operator()(const MeasureRequest& request) {
    if (before) before(request);
    ++measured;
    // A probe is one layer whose flags say what its neighbours would do; a whole network is its layers.
    const bool whole = request.loss && !request.input_grad;
    double device = 0;
    double layers = 0;
    if (whole) {
      for (const Layer& layer : parse_layers(request.network, request.batch)) {
        device += cost_s(layer.cost);
        ++layers;
      }
    } else if (request.network.nodes().size() > 1) {
      device = cost_s(network_cost(request.network, request.batch, request.input_grad));
      layers = 1;
    }
    Measurement m;
    m.mode = accelerator && request.mode == MeasureMode::kReplay ? "replay" : "eager";
    m.time_s = device + (accelerator ? 0 : fixed_s);
    double joules = watts * m.time_s;
    if (accelerator) {
      m.time_s = std::max(m.time_s, 1e-9);
      m.host_s = host_fixed_s + layers * host_per_layer_s;
      if (m.mode == "eager") {
        m.time_s = std::pow(std::pow(device, 8) + std::pow(*m.host_s, 8), 0.125);
        joules += idle_w * (m.time_s - device);
      }
    }
    if (request.energy) m.energy_j = std::max(joules, 1e-12);
    m.windows = 5;
    m.iterations = 100;
    m.stable = true;
    m.modelled = true;
    m.meter = "synthetic";
    return m;
  }

 private:
  double cost_s(const Cost& cost) const {
    const double seconds = per_layer_s + per_flop_s * cost.flops() + per_byte_s * cost.bytes();
    return static_cast<std::int64_t>(cost.parameters) % 3 == 0 ? seconds * rough : seconds;
  }
};

}  // namespace ampere

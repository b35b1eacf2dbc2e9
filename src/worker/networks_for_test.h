// Small networks for the worker's tests.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "network/network.h"
#include "network/network_json.h"

namespace ampere::worker {

inline Network network_of(const std::string& nodes) {
  return network_from_json(parse_json(R"({"nodes": [)" + nodes + "]}", "test"), "test");
}

inline const char* lenet_nodes() {
  return R"({"op": "input", "shape": [1, 28, 28]},
            {"op": "conv2d", "out_channels": 6, "kernel": 5, "padding": 2}, {"op": "relu"},
            {"op": "max_pool", "kernel": 2},
            {"op": "conv2d", "out_channels": 16, "kernel": 5}, {"op": "relu"}, {"op": "max_pool", "kernel": 2},
            {"op": "flatten"},
            {"op": "linear", "out_features": 120}, {"op": "relu"},
            {"op": "linear", "out_features": 84}, {"op": "relu"},
            {"op": "linear", "out_features": 10})";
}

// One network for each op and each of its forms that LibTorch treats differently.
struct OpExample {
  const char* op;
  const char* nodes;
};
const std::vector<OpExample>& op_examples();

}  // namespace ampere::worker

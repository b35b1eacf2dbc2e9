// Networks whose channels hang together in all the ways we know, for tests.
#pragma once

#include <string>
#include <vector>

#include "network/network_json.h"

namespace ampere {

inline Network network_of(const std::string& nodes) {
  return network_from_json(parse_json(R"({"name": "test", "nodes": [)" + nodes + "]}", "test"), "test");
}

// A stem, a depthwise convolution that says its groups, squeeze and excitation, a skip connection.
inline Network mobile_network() {
  return network_of(R"(
    {"name": "in", "op": "input", "shape": [3, 16, 16]},
    {"name": "stem", "op": "conv2d", "out_channels": 24, "kernel": 3, "padding": 1},
    {"name": "expand", "op": "conv2d", "out_channels": 48, "kernel": 1, "inputs": ["stem"]},
    {"name": "depthwise", "op": "conv2d", "out_channels": 48, "kernel": 3, "padding": 1, "groups": 48},
    {"name": "act", "op": "relu6"},
    {"name": "pool", "op": "adaptive_avg_pool", "output": 1, "inputs": ["act"]},
    {"name": "squeeze", "op": "conv2d", "out_channels": 12, "kernel": 1},
    {"name": "excite", "op": "conv2d", "out_channels": 48, "kernel": 1},
    {"name": "gate", "op": "hardsigmoid"},
    {"name": "scaled", "op": "mul", "inputs": ["act", "gate"]},
    {"name": "project", "op": "conv2d", "out_channels": 24, "kernel": 1},
    {"name": "skip", "op": "add", "inputs": ["stem", "project"]},
    {"name": "flat", "op": "flatten"},
    {"name": "head", "op": "linear", "out_features": 10})");
}

// Two branches of grouped convolutions, concatenated, then normalised in groups.
inline Network branched_network() {
  return network_of(R"(
    {"name": "in", "op": "input", "shape": [4, 12, 12]},
    {"name": "a", "op": "conv2d", "out_channels": 32, "kernel": 3, "padding": 1},
    {"name": "b", "op": "conv2d", "out_channels": 40, "kernel": 3, "padding": 1, "groups": 4, "inputs": ["a"]},
    {"name": "c", "op": "conv2d", "out_channels": 16, "kernel": 1, "inputs": ["a"]},
    {"name": "both", "op": "concat", "inputs": ["b", "c"]},
    {"name": "d", "op": "conv2d", "out_channels": 30, "kernel": 3},
    {"name": "norm", "op": "group_norm", "groups": 3},
    {"name": "flat", "op": "flatten"},
    {"name": "e", "op": "linear", "out_features": 20},
    {"name": "f", "op": "linear", "out_features": 5})");
}

// A bidirectional recurrence, then attention whose output is added to what it reads.
inline Network sequence_network() {
  return network_of(R"(
    {"name": "in", "op": "input", "shape": [12], "dtype": "int", "classes": 50},
    {"name": "words", "op": "embedding", "vocabulary": 50, "dim": 24},
    {"name": "lstm", "op": "lstm", "hidden_size": 16, "bidirectional": true},
    {"name": "attend", "op": "attention", "heads": 4},
    {"name": "skip", "op": "add", "inputs": ["lstm", "attend"]},
    {"name": "mean", "op": "mean", "axes": [1]},
    {"name": "head", "op": "linear", "out_features": 3})");
}

}  // namespace ampere

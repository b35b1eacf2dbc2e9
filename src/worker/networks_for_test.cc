#include "worker/networks_for_test.h"

namespace ampere {

#define IMAGE R"({"name": "x", "op": "input", "shape": [4, 9, 9]}, )"
#define SIGNAL R"({"name": "x", "op": "input", "shape": [4, 11]}, )"
#define SEQUENCE R"({"name": "x", "op": "input", "shape": [5, 8]}, )"
#define FLAT R"({"name": "x", "op": "input", "shape": [12]}, )"
#define WORDS R"({"name": "x", "op": "input", "shape": [5], "dtype": "int", "classes": 20}, )"

const std::vector<OpExample>& op_examples() {
  static const std::vector<OpExample> examples = {
      {"input", FLAT R"({"op": "linear", "out_features": 3})"},
      {"conv1d", SIGNAL R"({"op": "conv1d", "out_channels": 6, "kernel": 3, "stride": 2, "padding": 1})"},
      {"conv2d", IMAGE R"({"op": "conv2d", "out_channels": 6, "kernel": 3, "padding": 1, "bias": false})"},
      {"conv2d",
       IMAGE R"({"op": "conv2d", "out_channels": 8, "kernel": [3, 1], "dilation": 2, "groups": 2})"},
      {"conv2d", IMAGE R"({"op": "conv2d", "out_channels": 4, "kernel": 3, "stride": [2, 1], "groups": 0})"},
      {"linear", FLAT R"({"op": "linear", "out_features": 1})"},
      {"linear", SEQUENCE R"({"op": "linear", "out_features": 3, "bias": false})"},
      {"embedding", WORDS R"({"op": "embedding", "vocabulary": 20, "dim": 6})"},
      {"lstm", SEQUENCE R"({"op": "lstm", "hidden_size": 7})"},
      {"lstm",
       SEQUENCE R"({"op": "lstm", "hidden_size": 7, "num_layers": 2, "bidirectional": true, "bias": false})"},
      {"gru", SEQUENCE R"({"op": "gru", "hidden_size": 7})"},
      {"gru", SEQUENCE R"({"op": "gru", "hidden_size": 7, "num_layers": 2, "bidirectional": true})"},
      {"attention", SEQUENCE R"({"op": "attention", "heads": 2})"},
      {"attention", SEQUENCE R"({"name": "k", "op": "input", "shape": [3, 8]},
                                {"op": "attention", "heads": 4, "bias": false, "inputs": ["x", "k", "k"]})"},
      {"encoder_layer", SEQUENCE R"({"op": "encoder_layer", "heads": 2, "feedforward": 16})"},
      {"encoder_layer", SEQUENCE R"({"op": "encoder_layer", "heads": 2, "feedforward": 16, "dropout": 0,
                                     "activation": "gelu", "norm_first": true})"},
      {"batch_norm", IMAGE R"({"op": "batch_norm"})"},
      {"batch_norm", SIGNAL R"({"op": "batch_norm"})"},
      {"batch_norm", FLAT R"({"op": "batch_norm", "affine": false})"},
      {"layer_norm", SEQUENCE R"({"op": "layer_norm"})"},
      {"layer_norm", IMAGE R"({"op": "layer_norm", "axes": 2})"},
      {"group_norm", IMAGE R"({"op": "group_norm", "groups": 2})"},
      {"relu", IMAGE R"({"op": "relu"})"},
      {"relu6", IMAGE R"({"op": "relu6"})"},
      {"leaky_relu", IMAGE R"({"op": "leaky_relu", "slope": 0.2})"},
      {"elu", IMAGE R"({"op": "elu"})"},
      {"gelu", IMAGE R"({"op": "gelu"})"},
      {"silu", IMAGE R"({"op": "silu"})"},
      {"hardswish", IMAGE R"({"op": "hardswish"})"},
      {"hardsigmoid", IMAGE R"({"op": "hardsigmoid"})"},
      {"sigmoid", IMAGE R"({"op": "sigmoid"})"},
      {"tanh", IMAGE R"({"op": "tanh"})"},
      {"softmax", IMAGE R"({"op": "softmax", "axis": 1})"},
      {"identity", IMAGE R"({"op": "identity"})"},
      {"max_pool", IMAGE R"({"op": "max_pool", "kernel": 2})"},
      {"max_pool", IMAGE R"({"op": "max_pool", "kernel": 3, "stride": 2, "padding": 1, "ceil_mode": true})"},
      {"max_pool", IMAGE R"({"op": "max_pool", "kernel": 2, "stride": 4, "padding": 1, "ceil_mode": true})"},
      {"max_pool", SIGNAL R"({"op": "max_pool", "kernel": 2, "ceil_mode": true})"},
      {"avg_pool", IMAGE R"({"op": "avg_pool", "kernel": [2, 3], "stride": [2, 1]})"},
      {"avg_pool", IMAGE R"({"op": "avg_pool", "kernel": 4, "ceil_mode": true, "padding": 2})"},
      {"avg_pool", SIGNAL R"({"op": "avg_pool", "kernel": 3})"},
      {"adaptive_avg_pool", IMAGE R"({"op": "adaptive_avg_pool", "output": 1})"},
      {"adaptive_avg_pool", IMAGE R"({"op": "adaptive_avg_pool", "output": [3, 20]})"},
      {"adaptive_avg_pool", SIGNAL R"({"op": "adaptive_avg_pool", "output": 4})"},
      {"dropout", IMAGE R"({"op": "dropout", "p": 0.3})"},
      {"add", IMAGE R"({"name": "y", "op": "relu"}, {"op": "add", "inputs": ["x", "y"]})"},
      {"add", IMAGE R"({"name": "y", "op": "mean", "axes": [2, 3], "keepdim": true},
                       {"op": "add", "inputs": ["x", "y", "x"]})"},
      {"mul",
       IMAGE R"({"name": "y", "op": "adaptive_avg_pool", "output": 1}, {"op": "mul", "inputs": ["x", "y"]})"},
      {"concat", IMAGE R"({"name": "y", "op": "relu"}, {"op": "concat", "inputs": ["x", "y", "x"]})"},
      {"concat",
       SEQUENCE R"({"name": "y", "op": "relu"}, {"op": "concat", "axis": -1, "inputs": ["x", "y"]})"},
      {"matmul", SEQUENCE R"({"name": "y", "op": "permute", "order": [0, 2, 1]},
                             {"op": "matmul", "inputs": ["x", "y"]})"},
      {"flatten", IMAGE R"({"op": "flatten", "start": 2})"},
      {"flatten", FLAT R"({"op": "flatten", "start": 3})"},
      {"reshape", IMAGE R"({"op": "reshape", "shape": [0, 2, -1]})"},
      {"permute", IMAGE R"({"op": "permute", "order": [0, 2, 3, 1]})"},
      {"slice", IMAGE R"({"op": "slice", "axis": 2, "start": -7, "end": -1, "step": 2})"},
      {"slice", SEQUENCE R"({"op": "slice", "start": 1})"},
      {"mean", IMAGE R"({"op": "mean", "axes": [2, -1]})"},
      {"mean", IMAGE R"({"op": "mean", "axes": [1], "keepdim": true})"},
  };
  return examples;
}

}  // namespace ampere

#include "onednn/training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "network/network_json.h"
#include "onednn/device.h"

namespace ampere::onednn {
namespace {

constexpr std::int64_t kBatch = 3;

Network network_of(const std::string& nodes) {
  return network_from_json(parse_json(R"({"nodes": [)" + nodes + "]}", "network"), "network");
}

NetworkTraining training_of(const std::string& nodes, const worker::TrainerOptions& options = {}) {
  return NetworkTraining(network_of(nodes), kBatch, options, *open_processor());
}

struct Case {
  const char* name;
  const char* nodes;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const char* const kImage = R"({"name": "x", "op": "input", "shape": [4, 6, 6]}, )";
const char* const kSequence = R"({"name": "x", "op": "input", "shape": [5, 8]}, )";

class Gradients : public testing::TestWithParam<Case> {};

// The gradient is the slope of the loss: each number is moved a little to both sides and the loss looked at.
TEST_P(Gradients, AreTheSlopesOfTheLoss) {
  worker::TrainerOptions options;
  options.input_grad = true;
  NetworkTraining training = training_of(GetParam().nodes, options);
  training.step(Phase::kForward);
  training.step(Phase::kBackward);
  std::vector<Value*> looked_at = training.graph().parameters();
  for (Value* in : training.values().inputs) {
    if (in->wants_gradient) looked_at.push_back(in);
  }
  ASSERT_FALSE(looked_at.empty());
  double largest = 0;
  for (const Value* value : looked_at) {
    for (std::int64_t i = 0; i < value->elements(); ++i)
      largest = std::max(largest, std::fabs(static_cast<double>(value->gradient.data()[i])));
  }
  EXPECT_GT(largest, 0);
  for (Value* value : looked_at) {
    const std::int64_t every = std::max<std::int64_t>(1, value->elements() / 7);
    for (std::int64_t i = 0; i < value->elements(); i += every) {
      const float before = value->data.data()[i];
      const float step = 4e-3F;
      auto loss_at = [&](float x) {
        value->data.data()[i] = x;
        training.step(Phase::kForward);
        return *training.last_loss();
      };
      const double slope =
          (loss_at(before + step) - loss_at(before - step)) / (2.0 * static_cast<double>(step));
      value->data.data()[i] = before;
      EXPECT_NEAR(slope, value->gradient.data()[i], 0.02 * largest + 1e-4) << "element " << i;
    }
  }
}

std::vector<Case> cases() {
  static const std::vector<std::pair<const char*, std::string>> networks = {
      {"conv2d",
       kImage +
           std::string(R"({"op": "conv2d", "out_channels": 5, "kernel": 3, "padding": 1, "stride": 2})")},
      {"grouped",
       kImage +
           std::string(R"({"op": "conv2d", "out_channels": 6, "kernel": 3, "groups": 2, "dilation": 2})")},
      {"points", kImage + std::string(R"({"op": "conv2d", "out_channels": 4, "kernel": 1, "stride": 2})")},
      {"depthwise",
       kImage +
           std::string(R"({"op": "conv2d", "out_channels": 4, "kernel": 3, "groups": 0, "bias": false})")},
      {"conv1d", R"({"op": "input", "shape": [4, 9]}, {"op": "conv1d", "out_channels": 6, "kernel": 3})"},
      {"conv_transpose2d",
       kImage +
           std::string(
               R"({"op": "conv_transpose2d", "out_channels": 3, "kernel": 3, "stride": 2, "padding": 1, "output_padding": 1})")},
      {"linear", kSequence + std::string(R"({"op": "linear", "out_features": 7})")},
      {"tied",
       R"({"op": "input", "shape": [5], "dtype": "int", "classes": 9}, {"op": "embedding", "vocabulary": 9, "dim": 6}, {"op": "linear", "out_features": 9, "tied": true})"},
      {"lstm",
       kSequence +
           std::string(R"({"op": "lstm", "hidden_size": 6, "bidirectional": true, "num_layers": 2})")},
      {"gru", kSequence + std::string(R"({"op": "gru", "hidden_size": 6})")},
      {"attention", kSequence + std::string(R"({"op": "attention", "heads": 2})")},
      {"cross",
       kSequence +
           std::string(
               R"({"name": "k", "op": "input", "shape": [3, 8]}, {"op": "attention", "heads": 2, "inputs": ["x", "k", "k"]})")},
      {"core",
       kSequence +
           std::string(
               R"({"op": "attention_core", "heads": 2, "mask": "causal", "inputs": ["x", "x", "x"]})")},
      {"windows", R"({"op": "input", "shape": [3, 4, 12]}, {"op": "attention_core", "heads": 2, "rows": 9})"},
      {"encoder",
       kSequence +
           std::string(
               R"({"op": "encoder_layer", "heads": 2, "feedforward": 16, "dropout": 0.0, "activation": "gelu"})")},
      {"batch_norm", kImage + std::string(R"({"op": "batch_norm"})")},
      {"layer_norm", kSequence + std::string(R"({"op": "layer_norm"})")},
      {"group_norm", kImage + std::string(R"({"op": "group_norm", "groups": 2})")},
      {"softmax", kSequence + std::string(R"({"op": "softmax"})")},
      {"log_softmax", kSequence + std::string(R"({"op": "log_softmax"})")},
      {"max_pool",
       kImage +
           std::string(R"({"op": "max_pool", "kernel": 3, "stride": 2, "padding": 1, "ceil_mode": true})")},
      {"avg_pool", kImage + std::string(R"({"op": "avg_pool", "kernel": [2, 3], "padding": [0, 1]})")},
      {"adaptive", kImage + std::string(R"({"op": "adaptive_avg_pool", "output": 4})")},
      {"upsample", kImage + std::string(R"({"op": "upsample", "factor": 2, "mode": "bilinear"})")},
      {"mul",
       kImage +
           std::string(
               R"({"name": "y", "op": "mean", "axes": [2, 3], "keepdim": true}, {"op": "mul", "inputs": ["x", "y"]})")},
      {"add",
       kImage + std::string(R"({"name": "y", "op": "tanh"}, {"op": "add", "inputs": ["x", "y", "x"]})")},
      {"concat",
       kImage + std::string(R"({"name": "y", "op": "sigmoid"}, {"op": "concat", "inputs": ["x", "y"]})")},
      {"matmul",
       kSequence +
           std::string(
               R"({"name": "y", "op": "permute", "order": [0, 2, 1]}, {"op": "matmul", "inputs": ["x", "y"]})")},
      {"learned",
       kSequence +
           std::string(
               R"({"op": "learned_add", "shape": [0, 0], "rows": 3}, {"op": "learned_mul", "shape": [0]})")},
      {"class_token", kSequence + std::string(R"({"op": "class_token", "count": 2})")},
      {"moved",
       kImage +
           std::string(
               R"({"op": "roll", "shifts": [-2, 3], "axes": [2, 3]}, {"op": "channel_shuffle", "groups": 2}, {"op": "slice", "axis": 2, "start": -5, "end": -1, "step": 2}, {"op": "reshape", "shape": [0, 2, -1]})")},
      {"flattened",
       kImage +
           std::string(
               R"({"op": "conv2d", "out_channels": 5, "kernel": 3}, {"op": "flatten"}, {"op": "linear", "out_features": 6})")},
      {"hardsigmoid", kImage + std::string(R"({"op": "hardsigmoid"})")},
      {"silu", kImage + std::string(R"({"op": "silu"})")},
      {"elu", kImage + std::string(R"({"op": "elu"})")},
      {"hardswish", kImage + std::string(R"({"op": "hardswish"})")},
  };
  std::vector<Case> all;
  for (const auto& [name, nodes] : networks) all.push_back({name, nodes.c_str()});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradients, testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Training, EveryOptimizerMakesTheLossFall) {
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    worker::TrainerOptions options;
    options.learning_rate = 0.01;
    options.recipe.optimizer = optimizer;
    NetworkTraining training =
        training_of(kImage + std::string(R"({"op": "conv2d", "out_channels": 8, "kernel": 3}, {"op": "relu"},
                    {"op": "batch_norm"}, {"op": "flatten"}, {"op": "linear", "out_features": 10})"),
                    options);
    training.step(Phase::kIteration);
    const double first = *training.last_loss();
    for (int i = 0; i < 50; ++i) training.step(Phase::kIteration);
    EXPECT_LT(*training.last_loss(), 0.8 * first) << optimizer;
  }
}

TEST(Training, TheSameSeedGivesTheSameLoss) {
  const std::string nodes = kSequence + std::string(R"({"op": "lstm", "hidden_size": 6}, {"op": "dropout"})");
  NetworkTraining a = training_of(nodes), b = training_of(nodes);
  for (int i = 0; i < 3; ++i) {
    a.step(Phase::kIteration);
    b.step(Phase::kIteration);
  }
  EXPECT_EQ(*a.last_loss(), *b.last_loss());
}

TEST(Training, AnOutputThatIsReadAgainGetsBothGradients) {
  Network network =
      network_of(R"({"op": "input", "shape": [4]}, {"op": "linear", "out_features": 3}, {"op": "tanh"})");
  network.set_outputs({1, 2});
  NetworkTraining training(network, kBatch, {}, *open_processor());
  training.step(Phase::kIteration);
  const double once = training.graph().parameters()[0]->gradient.data()[0];
  training.step(Phase::kBackward);
  EXPECT_EQ(training.graph().parameters()[0]->gradient.data()[0], once);
}

std::string refusal(const std::string& nodes, const worker::TrainerOptions& options = {}) {
  try {
    training_of(nodes, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
    return e.what();
  }
  return "";
}

TEST(Training, WhatItCannotTrainIsRefusedWithAWayOut) {
  worker::TrainerOptions bf16;
  bf16.recipe.precision = "bf16";
  EXPECT_NE(
      refusal(R"({"op": "input", "shape": [4]}, {"op": "linear", "out_features": 3})", bf16).find("fp32"),
      std::string::npos);
  EXPECT_NE(refusal(R"({"op": "input", "shape": [4]}, {"op": "calls", "calls": "{}"})").find("ampere-worker"),
            std::string::npos);
}

}  // namespace
}  // namespace ampere::onednn

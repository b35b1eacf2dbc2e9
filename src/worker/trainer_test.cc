#include "worker/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "network/cost.h"
#include "network/shape.h"
#include "worker/measure.h"
#include "worker/networks_for_test.h"

namespace ampere::worker {
namespace {

constexpr std::int64_t kBatch = 3;

class TrainerTest : public testing::Test {
 protected:
  std::unique_ptr<TorchDevice> device_ = open_device("cpu");
};

std::vector<std::vector<std::int64_t>> inferred_outputs(const Network& network) {
  const auto shapes = infer_shapes(network, kBatch);
  std::vector<std::vector<std::int64_t>> dims;
  for (int k : network.outputs()) dims.push_back(shapes[static_cast<std::size_t>(k)].dims);
  return dims;
}

TEST(OpExamples, CoverEveryOp) {
  std::set<std::string> covered;
  for (const OpExample& e : op_examples()) covered.insert(e.op);
  covered.insert(name_of(Op::kCalls));  // no module: session_test.cc measures them
  for (const OpSpec& spec : all_ops()) EXPECT_TRUE(covered.count(spec.name)) << spec.name;
}

TEST_F(TrainerTest, EveryOpTrainsAndAgreesWithShapesAndCosts) {
  for (const OpExample& example : op_examples()) {
    const Network network = network_of(example.nodes);
    for (bool loss : {true, false}) {
      SCOPED_TRACE(std::string(example.nodes) + (loss ? " with loss" : " without loss"));
      TrainerOptions options;
      options.loss = loss;
      options.input_grad = true;
      Trainer trainer(network, kBatch, options, *device_);
      for (int i = 0; i < 2; ++i) trainer.step();
      EXPECT_EQ(trainer.output_shapes(), inferred_outputs(network));
      EXPECT_EQ(static_cast<double>(trainer.parameters()), network_cost(network, kBatch).parameters);
      EXPECT_EQ(trainer.last_loss().has_value(), loss);
      if (loss) {
        EXPECT_TRUE(std::isfinite(*trainer.last_loss()));
      }
      if (std::string(example.op) != "embedding") {
        EXPECT_TRUE(trainer.has_input_gradients());
      }
    }
  }
}

TEST_F(TrainerTest, EveryOptimizerLowersTheLoss) {
  const Network lenet = network_of(lenet_nodes());
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    Recipe recipe;
    recipe.optimizer = optimizer;
    const TrainSummary summary = train(lenet, 10, recipe, 60, *device_);
    EXPECT_LT(summary.loss_last, summary.loss_first) << optimizer;
    EXPECT_GT(summary.time_s, 0) << optimizer;
  }
}

TEST_F(TrainerTest, SequencesAndSeveralOutputsLowerTheLoss) {
  const Network network = network_of(
      R"({"op": "input", "shape": [6], "dtype": "int", "classes": 30},
         {"op": "embedding", "vocabulary": 30, "dim": 16}, {"op": "lstm", "hidden_size": 16},
         {"op": "encoder_layer", "heads": 2, "feedforward": 32}, {"op": "linear", "out_features": 5})");
  Recipe recipe;
  recipe.optimizer = "adam";
  const TrainSummary summary = train(network, 8, recipe, 80, *device_);
  EXPECT_LT(summary.loss_last, summary.loss_first);

  Network two = network_of(R"({"op": "input", "shape": [6]}, {"op": "linear", "out_features": 5},
                              {"op": "linear", "out_features": 1})");
  two.set_outputs({1, 2});
  TrainerOptions options;
  Trainer trainer(two, 4, options, *device_);
  trainer.step();
  EXPECT_EQ(trainer.output_shapes().size(), 2u);
}

TEST_F(TrainerTest, OneSeedGivesOneResult) {
  const Network lenet = network_of(lenet_nodes());
  auto loss_with = [&](std::int64_t seed) {
    Recipe recipe;
    recipe.seed = seed;
    return train(lenet, 4, recipe, 5, *device_).loss_last;
  };
  EXPECT_EQ(loss_with(7), loss_with(7));
  EXPECT_NE(loss_with(7), loss_with(8));
}

TEST_F(TrainerTest, Bf16TrainsAndOtherPrecisionsAreRefusedClearly) {
  const Network lenet = network_of(lenet_nodes());
  Recipe recipe;
  recipe.precision = "bf16";
  const TrainSummary summary = train(lenet, 10, recipe, 60, *device_);
  EXPECT_LT(summary.loss_last, summary.loss_first);
  EXPECT_NE(summary.loss_first, train(lenet, 10, Recipe{}, 1, *device_).loss_first);  // it was really rounded
  recipe.precision = "tf32";
  EXPECT_THROW(train(lenet, 10, recipe, 1, *device_), Error);
}

TEST_F(TrainerTest, NetworksWithoutWeightsRun) {
  for (bool loss : {true, false}) {
    TrainerOptions options;
    options.loss = loss;
    Trainer trainer(network_of(R"({"op": "input", "shape": [6]}, {"op": "relu"})"), 4, options, *device_);
    trainer.step();
    Trainer empty(network_of(R"({"op": "input", "shape": [6]})"), 4, options, *device_);
    empty.step();
    empty.step();
    EXPECT_EQ(empty.parameters(), 0);
  }
}

ErrorKind kind_of(const std::string& nodes, std::int64_t batch, TorchDevice& device) {
  try {
    Trainer(network_of(nodes), batch, {}, device).step();
  } catch (const Error& e) {
    EXPECT_FALSE(std::string(e.what()).empty());
    return e.kind();
  }
  return ErrorKind::kWorker;  // not thrown here
}

TEST_F(TrainerTest, RefusesBeforeItAllocates) {
  EXPECT_EQ(kind_of(R"({"op": "input", "shape": [16777216]}, {"op": "linear", "out_features": 16777216})", 1,
                    *device_),
            ErrorKind::kOutOfMemory);
  EXPECT_EQ(kind_of(R"({"op": "input", "shape": [64, 224, 224]}, {"op": "relu"})", 100000, *device_),
            ErrorKind::kOutOfMemory);
  EXPECT_EQ(kind_of(R"({"op": "input", "shape": [5], "dtype": "int", "classes": 50},
                       {"op": "embedding", "vocabulary": 20, "dim": 4})",
                    1, *device_),
            ErrorKind::kBadInput);
  EXPECT_EQ(kind_of(R"({"op": "input", "shape": [5], "dtype": "int", "classes": 50}, {"op": "flatten"})", 1,
                    *device_),
            ErrorKind::kBadInput);
}

}  // namespace
}  // namespace ampere::worker

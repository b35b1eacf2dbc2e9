#include "work/step_memory.h"

#include <gtest/gtest.h>

#include "work/memory_timeline.h"

namespace ampere {
namespace {

TEST(MemoryTimeline, BlocksAreThereFromTheCallThatMakesThemToTheLastThatReadsThem) {
  MemoryTimeline line;
  const auto weight = line.block(10, MemoryUse::kWeight), first = line.block(5, MemoryUse::kForward),
             second = line.block(7, MemoryUse::kForward);
  line.always(weight);
  line.call({weight}, {first});
  line.call({first}, {second}, 3);
  line.call({second}, {});
  EXPECT_EQ(line.peak().bytes, 10 + 5 + 7 + 3);
  EXPECT_EQ(line.peak().call, 1U);
  EXPECT_EQ(line.before(2).bytes, 10 + 7);
  EXPECT_EQ(line.at_the_end().bytes, 10);
}

Network perceptron(std::int64_t width) {
  Network network("perceptron");
  const int in = network.add(Op::kInput, {}, {{"shape", std::vector<std::int64_t>{100}}});
  const int hidden = network.add(Op::kLinear, {in}, {{"out_features", width}});
  network.add(Op::kLinear, {network.add(Op::kRelu, {hidden})}, {{"out_features", std::int64_t{10}}});
  return network;
}

StepStyle trained_with(const std::string& optimizer) {
  StepStyle style;
  style.optimizer = optimizer;
  style.loss = true;
  return style;
}

TEST(StepMemory, WeightsGradientsAndMomentsAreAsManyAsTheNetworkHas) {
  const double weights = 4 * (100 * 64 + 64 + 64 * 10 + 10);
  const StepMemory m = step_memory(perceptron(64), 32, trained_with("adam"), {});
  EXPECT_EQ(m.weights, weights);
  EXPECT_EQ(m.gradients, weights);
  EXPECT_NEAR(m.optimizer, 2 * weights, 100);
  EXPECT_GE(m.saved, 4 * 32 * 64);  // what relu put out
  EXPECT_GT(m.peak, 4 * weights);
}

TEST(StepMemory, GrowsWithTheBatchAndNotWithTheOptimizerOfPlainDescent) {
  const StepMemory one = step_memory(perceptron(64), 1, trained_with("sgd"), {});
  const StepMemory many = step_memory(perceptron(64), 1000, trained_with("sgd"), {});
  EXPECT_EQ(one.optimizer, 0);
  EXPECT_EQ(one.weights, many.weights);
  EXPECT_GT(many.peak, 10 * one.peak);
}

TEST(StepMemory, CudaRoundsUpAndItsLibrariesTakeSome) {
  const AllocatorStyle style =
      allocator_style_of({{"type", "cuda"}, {"framework", "pytorch 2.11"}, {"name", "NVIDIA H200"}});
  const StepMemory m = step_memory(perceptron(63), 3, trained_with("sgd"), style);
  EXPECT_EQ(static_cast<std::int64_t>(m.weights) % 512, 0);
  EXPECT_EQ(m.libraries, 64.0 * (1 << 20));
  EXPECT_GT(m.peak, m.libraries);
}

// 6 channels are computed in a block of 16, beside what is put out.
TEST(StepMemory, ConvolutionsOnProcessorsTakeACopyInBlocksOfChannels) {
  Network network("convolution");
  const int in = network.add(Op::kInput, {}, {{"shape", std::vector<std::int64_t>{1, 28, 28}}});
  const int conv = network.add(
      Op::kConv2d, {in},
      {{"out_channels", std::int64_t{6}}, {"kernel", std::int64_t{5}}, {"padding", std::int64_t{2}}});
  network.add(Op::kLinear, {network.add(Op::kFlatten, {conv})}, {{"out_features", std::int64_t{10}}});
  const double pixels = 256 * 28 * 28 * 4;
  AllocatorStyle style;
  const StepMemory blocked = step_memory(network, 256, trained_with("sgd"), style);
  style.channel_block = 0;
  const StepMemory plain = step_memory(network, 256, trained_with("sgd"), style);
  EXPECT_NEAR(blocked.peak, (1 + 6 + 16) * pixels, 0.05 * pixels + 8 * blocked.weights);
  EXPECT_LT(plain.peak, (1 + 2 * 6) * pixels + 8 * plain.weights);
  EXPECT_EQ(allocator_style_of({{"type", "cpu"}, {"framework", "oneDNN 2.6.3"}}).channel_block, 0);
}

}  // namespace
}  // namespace ampere

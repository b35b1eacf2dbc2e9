#include "worker/attention_module.h"

#include <gtest/gtest.h>

namespace ampere::worker {
namespace {

// Copies every parameter by its name; both modules use PyTorch's names.
void copy_parameters(const torch::nn::Module& from, torch::nn::Module& to) {
  const torch::NoGradGuard no_grad;
  auto target = to.named_parameters();
  const auto source = from.named_parameters();
  ASSERT_EQ(source.size(), target.size());
  for (const auto& p : source) target[p.key()].copy_(p.value());
}

// LibTorch's own modules take (length, batch, features); dropout is off, so both must agree.
TEST(AttentionModule, AgreesWithLibTorch) {
  for (bool bias : {true, false}) {
    torch::nn::MultiheadAttention reference(torch::nn::MultiheadAttentionOptions(12, 3).bias(bias));
    AttentionModule ours(12, 3, bias, 0);
    copy_parameters(*reference, ours);
    const torch::Tensor query = torch::randn({2, 5, 12}), memory = torch::randn({2, 7, 12});
    auto turned = [](const torch::Tensor& x) { return x.transpose(0, 1); };
    const auto self = std::get<0>(reference(turned(query), turned(query), turned(query)));
    EXPECT_TRUE(torch::allclose(ours.forward(query, query, query), turned(self), 1e-4, 1e-5));
    const auto cross = std::get<0>(reference(turned(query), turned(memory), turned(memory)));
    EXPECT_TRUE(torch::allclose(ours.forward(query, memory, memory), turned(cross), 1e-4, 1e-5));
  }
}

TEST(AttentionCore, WindowsAttendToThemselves) {
  AttentionCore core(2, "additive", 0, 4, 4, 9);
  const torch::Tensor x = torch::randn({5, 3, 4, 12});
  const torch::Tensor apart = core.forward({x.reshape({15, 4, 12})});
  EXPECT_TRUE(torch::allclose(core.forward({x}), apart.reshape({5, 3, 4, 4}), 1e-4, 1e-5));
}

TEST(AttentionCore, TrainsItsBiasOfEveryHead) {
  AttentionCore core(2, "none", 0, 4, 4, 9);
  const auto parameters = core.parameters();
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters[0].sizes(), (std::vector<std::int64_t>{9, 2}));
  core.forward({torch::randn({5, 4, 12})}).square().sum().backward();
  EXPECT_TRUE(parameters[0].grad().ne(0).all().item<bool>());
}

TEST(EncoderModule, AgreesWithLibTorchAfterNormAndDiffersBeforeIt) {
  for (bool gelu : {true, false}) {
    torch::nn::TransformerEncoderLayerOptions options(8, 2);
    options.dim_feedforward(16).dropout(0);
    if (gelu) options.activation(torch::kGELU);
    torch::nn::TransformerEncoderLayer reference(options);
    EncoderModule after({8, 2, 16, 0, gelu, false});
    EncoderModule before({8, 2, 16, 0, gelu, true});
    copy_parameters(*reference, after);
    copy_parameters(*reference, before);
    const torch::Tensor x = torch::randn({3, 5, 8});
    const torch::Tensor expected = reference(x.transpose(0, 1)).transpose(0, 1);
    EXPECT_TRUE(torch::allclose(after.forward(x), expected, 1e-4, 1e-5));
    EXPECT_FALSE(torch::allclose(before.forward(x), expected, 1e-4, 1e-5));
  }
}

}  // namespace
}  // namespace ampere::worker

#include "worker/kernel_name.h"

#include <gtest/gtest.h>

namespace ampere::worker {
namespace {

std::string readable(const std::string& name) {
  const std::string text = short_kernel_name(name);
  return text.substr(0, text.rfind('~'));
}

TEST(KernelName, LeavesTheFunction) {
  EXPECT_EQ(readable("sm80_xmma_gemm_f32"), "sm80_xmma_gemm_f32");
  EXPECT_EQ(readable("_ZN5cudnn4flipEPfi"), "flip");  // cudnn::flip(float*, int)
  EXPECT_EQ(readable("void at::native::elementwise_kernel<128, 4, f(int)::g<1> >(int, float)"),
            "elementwise_kernel");
  EXPECT_EQ(readable("void at::native::(anonymous namespace)::reduce<4>(int)"), "reduce");
  EXPECT_EQ(readable("std::enable_if<!a, void>::type internal::gemvx::kernel<int, 7>(p)"), "kernel");
  EXPECT_EQ(readable(""), "");
  EXPECT_EQ(readable("a<<<<"), "a");
}

TEST(KernelName, TellsTemplatesApart) {
  EXPECT_NE(short_kernel_name("f<1>(int)"), short_kernel_name("f<2>(int)"));
  EXPECT_EQ(short_kernel_name("f<1>(int)"), short_kernel_name("f<1>(int)"));
  EXPECT_LE(short_kernel_name(std::string(5000, 'x')).size(), 70u);
}

}  // namespace
}  // namespace ampere::worker

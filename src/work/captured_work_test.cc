#include "work/captured_work.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace ampere {
namespace {

std::string tensor(const std::string& sizes, const std::string& strides,
                   const std::string& type = "float32") {
  return R"({"sizes":)" + sizes + R"(,"strides":)" + strides + R"(,"dtype":")" + type + R"("})";
}

const OpWork* find(const std::vector<CountedWork>& works, OpFamily family) {
  for (const CountedWork& w : works) {
    if (w.work.family == family) return &w.work;
  }
  return nullptr;
}

const std::string kConvolution =
    R"({"tensors":[)" + tensor("[8,16,14,14]", "[3136,196,14,1]") + "," +
    tensor("[32,16,3,3]", "[144,9,3,1]") + "," + tensor("[8,32,7,7]", "[1568,49,7,1]") + "," +
    tensor("[8,32,7,7]", "[1568,49,7,1]") + "," + tensor("[8,16,14,14]", "[3136,196,14,1]") + "," +
    tensor("[32,16,3,3]", "[144,9,3,1]") + R"(],
 "forward":[{"op":"aten::convolution","overload":"default","args":[{"t":0},{"t":1},null,[2,2],[1,1],[1,1],false,[0,0],1],"out":[2]},
            {"op":"aten::relu","overload":"default","args":[{"t":2}],"out":[3]},
            {"op":"aten::detach","overload":"default","args":[{"t":3}],"out":[3]}],
 "backward":[{"op":"aten::convolution_backward","overload":"default",
   "args":[{"t":3},{"t":0},{"t":1},null,[2,2],[1,1],[1,1],false,[0,0],1,[true,true,false]],"out":[4,5,null]}]})";

TEST(CapturedWork, OfAConvolution) {
  const std::vector<CountedWork> works = work_of_calls(kConvolution, TensorFloat::kConvolutions);
  ASSERT_EQ(works.size(), 3u);  // a view is no work
  const OpWork* forward = find(works, OpFamily::kConvolution);
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->flops, 2.0 * 8 * 49 * 32 * 16 * 9);
  EXPECT_EQ(forward->bytes, 4.0 * (8 * 16 * 196 + 32 * 16 * 9 + 8 * 32 * 49));
  EXPECT_EQ(forward->rows, 8 * 49);
  EXPECT_EQ(forward->columns, 32);
  EXPECT_EQ(forward->depth, 16);
  EXPECT_EQ(forward->kernel_area, 9);
  EXPECT_TRUE(forward->strided);
  EXPECT_EQ(forward->arithmetic, Arithmetic::kTensorFloat32);
  const OpWork* backward = find(works, OpFamily::kConvolutionGradient);
  ASSERT_TRUE(backward);
  EXPECT_EQ(backward->flops, 2 * forward->flops);
  EXPECT_TRUE(find(works, OpFamily::kPointwise));
  EXPECT_EQ(find(work_of_calls(kConvolution, TensorFloat::kNowhere), OpFamily::kConvolution)->arithmetic,
            Arithmetic::kFloat32);
}

TEST(CapturedWork, OfProductsAndUpdates) {
  const std::string text = R"({"tensors":[)" + tensor("[64,512]", "[512,1]", "bfloat16") + "," +
                           tensor("[512,256]", "[1,512]", "bfloat16") + "," +
                           tensor("[64,256]", "[256,1]", "bfloat16") + R"(],
    "forward":[{"op":"aten::mm","args":[{"t":0},{"t":1}],"out":[2]},{"op":"aten::mm","args":[{"t":0},{"t":1}],"out":[2]}],
    "update":[{"op":"aten::_foreach_add_","args":[[{"t":0},{"t":1}],[{"t":0},{"t":1}]],"out":[0,1]}]})";
  const std::vector<CountedWork> works = work_of_calls(text, TensorFloat::kConvolutions);
  ASSERT_EQ(works.size(), 2u);
  const OpWork* product = find(works, OpFamily::kProduct);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->rows, 64);
  EXPECT_EQ(product->columns, 256);
  EXPECT_EQ(product->depth, 512);
  EXPECT_EQ(product->layout, 0.5);  // the second is read across its rows
  EXPECT_EQ(product->arithmetic, Arithmetic::kHalf);
  EXPECT_EQ(works.front().count, 2);  // the same call twice
  const OpWork* update = find(works, OpFamily::kUpdate);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->groups, 2);
}

TEST(CapturedWork, OfAttentionAndItsGradient) {
  const std::string q = tensor("[2,4,128,64]", "[32768,64,256,1]");
  const std::string text = R"({"tensors":[)" + q + "," + q + "," + q + "," + q + R"(],
    "forward":[{"op":"aten::scaled_dot_product_attention","args":[{"t":0},{"t":1},{"t":2},null,0.0,true],"out":[3],
                "autocast":"bfloat16"}],
    "backward":[{"op":"aten::scaled_dot_product_attention","args":[{"t":3}],"out":[0,1,2],"of":0}]})";
  const std::vector<CountedWork> works = work_of_calls(text, TensorFloat::kConvolutions);
  const OpWork* forward = find(works, OpFamily::kAttention);
  const OpWork* backward = find(works, OpFamily::kAttentionGradient);
  ASSERT_TRUE(forward && backward);
  EXPECT_EQ(forward->flops, 0.5 * 4 * 8 * 128 * 128 * 64);
  EXPECT_EQ(backward->flops, 2.5 * forward->flops);
  EXPECT_EQ(forward->arithmetic, Arithmetic::kHalf);
  EXPECT_EQ(forward->groups, 8);
}

TEST(CapturedWork, AttentionWithSharedHeadsIsSpelledOutInFloat32Only) {
  const auto work = [](const std::string& heads_of_keys, const std::string& autocast,
                       bool accelerator = true) {
    const std::string q = tensor("[2,4,128,64]", "[32768,64,256,1]");
    const std::string k = tensor("[2," + heads_of_keys + ",128,64]", "[32768,64,256,1]");
    const std::string text = R"({"tensors":[)" + q + "," + k + "," + k + "," + q + R"(],
      "forward":[{"op":"aten::scaled_dot_product_attention","args":[{"t":0},{"t":1},{"t":2},null,0.0,true],"out":[3])" +
                             autocast + R"(}],
      "backward":[{"op":"aten::scaled_dot_product_attention","args":[{"t":3}],"out":[0,1,2],"of":0}]})";
    return work_of_calls(text, TensorFloat::kConvolutions, accelerator);
  };
  EXPECT_EQ(find(work("2", "", false), OpFamily::kAttention)->name, "attention");  // nor on a processor
  const auto shared = work("2", ""), own = work("4", ""), half = work("2", R"(,"autocast":"bfloat16")");
  for (const OpFamily family : {OpFamily::kAttention, OpFamily::kAttentionGradient}) {
    const OpWork *one = find(shared, family), *plain = find(own, family), *fused = find(half, family);
    ASSERT_TRUE(one && plain && fused);
    EXPECT_NE(one->name, plain->name);
    EXPECT_EQ(fused->name, plain->name);
    EXPECT_EQ(one->flops, plain->flops);
    EXPECT_GT(one->bytes, plain->bytes + 6 * 4 * 8 * 128 * 128 - 1);  // the scores, time and again
  }
}

TEST(CapturedWork, OfATransposedConvolution) {
  const std::string text = R"({"tensors":[)" + tensor("[8,64,14,14]", "[12544,196,14,1]") + "," +
                           tensor("[64,32,2,2]", "[128,4,2,1]") + "," +
                           tensor("[8,32,28,28]", "[25088,784,28,1]") +
                           R"(],"forward":[{"op":"aten::convolution",
    "args":[{"t":0},{"t":1},null,[2,2],[0,0],[1,1],true,[0,0],1],"out":[2]}]})";
  const std::vector<CountedWork> works = work_of_calls(text, TensorFloat::kConvolutions);
  ASSERT_EQ(works.size(), 1u);
  EXPECT_EQ(works[0].work.groups, 1);
  EXPECT_EQ(works[0].work.flops, 2.0 * 8 * 196 * 64 * 32 * 4);
}

TEST(CapturedWork, DoesNotPretendToKnowACall) {
  const std::string text = R"({"tensors":[)" + tensor("[8,8]", "[8,1]") +
                           R"(],"forward":[{"op":"aten::_linalg_svd","args":[{"t":0}],"out":[0]},
    {"op":"aten::mul_","args":[{"t":0},2.0],"out":[0]}]})";
  const std::vector<CountedWork> works = work_of_calls(text, TensorFloat::kConvolutions);
  EXPECT_TRUE(find(works, OpFamily::kOther));
  EXPECT_TRUE(find(works, OpFamily::kPointwise));
}

TEST(CapturedWork, RefusesWhatIsNoPart) {
  for (const char* text :
       {"", "[]", "17", R"({"tensors":1})", R"({"forward":[{}]})",
        R"({"forward":[{"op":"aten::mm","args":[{"t":9}]}]})", R"({"tensors":[{"sizes":[1],"strides":[]}]})",
        R"({"backward":[{"op":"aten::gru","args":[],"out":[],"of":0}]})",
        R"({"tensors":[{"sizes":[-1],"strides":[1]}]})", R"({"tensors":[{"sizes":[1e300],"strides":[1]}]})",
        R"({"tensors":[{"sizes":["8"],"strides":[1]}]})",
        R"({"tensors":[{"sizes":[1000000000,1000000000],"strides":[1,1]}]})",
        R"({"forward":[{"op":"x","args":[[[[[[[[[[[1]]]]]]]]]]]}]})"})
    EXPECT_THROW(work_of_calls(text, TensorFloat::kConvolutions), Error) << text;
}

TEST(CapturedWork, TakesOddCallsAsTheyCome) {
  const std::string text = R"({"tensors":[)" + tensor("[]", "[]") + "," + tensor("[0,3]", "[3,1]") + R"(],
    "forward":[{"op":"aten::mm","args":[{"t":0},{"t":1}],"out":[1]},{"op":"aten::mm","args":[],"out":[]},
               {"op":"aten::convolution","args":[{"t":0},{"t":0}],"out":[0]},
               {"op":"aten::convolution_backward","args":[],"out":[]},
               {"op":"aten::lstm","args":[{"t":1}],"out":[null,7]},
               {"op":"aten::native_layer_norm","args":[{"t":1}],"out":[1]},
               {"op":"aten::never_heard_of","args":[{"t":0}],"out":[0]}]})";
  for (const CountedWork& w : work_of_calls(text, TensorFloat::kConvolutions)) {
    const Coordinates at = coordinates_of(w.work, 1e-6);
    for (double x : at) EXPECT_TRUE(std::isfinite(x));
  }
}

}  // namespace
}  // namespace ampere

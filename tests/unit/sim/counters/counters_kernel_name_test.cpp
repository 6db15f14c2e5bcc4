#include <gtest/gtest.h>

#include "sim/counters/kernel_name.h"

namespace tandem {
namespace {

std::string base(std::string_view name) { return parse_kernel_name(name).base; }
double similar(std::string_view a, std::string_view b) {
  return similarity(parse_kernel_name(a), parse_kernel_name(b));
}
bool same(std::string_view a, std::string_view b) {
  return same_kernel(parse_kernel_name(a), parse_kernel_name(b));
}

TEST(CountersKernelName, FindsTheBaseName) {
  EXPECT_EQ(base("nvjet_sm90_hss_64x64_64x13_1x2_h_bz_TNT"),
            "nvjet_sm90_hss_64x64_64x13_1x2_h_bz_TNT");
  EXPECT_EQ(base("void at::native::elementwise_kernel<128, 2, x::y<int> >(int, T3)"),
            "elementwise_kernel");
  EXPECT_EQ(base("void at::native::(anonymous namespace)::gather<float>(float*)"), "gather");
  EXPECT_EQ(base("void at::native::<unnamed>::gather<float>(T1 *)"), "gather");
  EXPECT_EQ(base("philox::unpack_cudnn(at::PhiloxCudaState, long *)"), "unpack_cudnn");
  EXPECT_EQ(base("_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel4GemmILi64EEEEEvNT_6ParamsE"),
            "Kernel");
  EXPECT_EQ(base(""), "");
}

// Pairs as CUPTI and Nsight Compute print them, from the H200 captures.
TEST(CountersKernelName, ComparesWhatTheProfilersAgreeOn) {
  EXPECT_TRUE(
      same("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::"
           "native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<"
           "float> const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::"
           "CUDAFunctor_add<float> >(at::TensorIteratorBase&)::{lambda(int)#1})",
           "void at::elementwise_kernel<128, 2, void at::gpu_kernel_impl_nocast<at::CUDAFunctor_"
           "add<float>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, "
           "T3)"));
  EXPECT_DOUBLE_EQ(
      similar("void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false, true, "
              "(cudnnKernelDataType_t)0>(float const*, float*)",
              "void engines_precompiled::nchwToNhwcKernel<float, float, float, 0, 1, 0>(const T1 "
              "*, T2 *)"),
      1);
  EXPECT_DOUBLE_EQ(
      similar("void f<(int)4, std::array<char*, 3ul> >(int)", "void f<4, array<char *, 3>>(int)"),
      1);
}

TEST(CountersKernelName, TellsInstancesOfATemplateApart) {
  const auto add = "void vectorized_elementwise_kernel<4, AddFunctor<float>, array<char *, 3>>(T1)";
  const auto mul = "void vectorized_elementwise_kernel<4, MulFunctor<float>, array<char *, 3>>(T1)";
  EXPECT_EQ(base(add), base(mul));
  EXPECT_TRUE(same(add, add));
  EXPECT_FALSE(same(add, mul));
}

TEST(CountersKernelName, AcceptsANameWithoutArguments) {
  EXPECT_TRUE(same("elementwise_kernel", "void at::native::elementwise_kernel<128, 2>(int)"));
  EXPECT_FALSE(same("elementwise_kernel", "void at::native::reduce_kernel<128, 2>(int)"));
}

TEST(CountersKernelName, ComparesANameThatWasLeftMangled) {
  const auto mangled =
      "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock22"
      "ImplicitGemmMultistageINS_4gemm9GemmShapeILi64ELi128ELi16EEENS_6layout8RowMajorEfLb1EEEEEEE"
      "vNT_6ParamsE";
  const auto readable =
      "void cutlass__5x_cudnn::Kernel<conv::ImplicitGemmConvolution<conv::ImplicitGemmMultistage<"
      "gemm::GemmShape<64, 128, 16>, layout::RowMajor, float, 1>>>(T1::Params)";
  EXPECT_TRUE(same(mangled, readable));
  EXPECT_FALSE(same(mangled, "void cutlass__5x_cudnn::Kernel<conv::Other<8>>(T1::Params)"));
}

TEST(CountersKernelName, TakesAnyText) {
  for (const char* text : {"_Z", "_ZN", "_Z9999999999x", "_ZL", "_ZLi", "_ZLb1", ")", "(", "<",
                           "::", "a)", "((((", "(anonymous namespace)", "T1", "4ul", "_ZS_T0_"}) {
    EXPECT_TRUE(same(text, text)) << text;
  }
}

}  // namespace
}  // namespace tandem

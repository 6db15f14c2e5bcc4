#include "models/kernel/classify/stated_types.h"

#include <gtest/gtest.h>

#include "models/kernel/classify/classify.h"

namespace tandem {
namespace {

StatedTypes stated(std::string_view name) { return stated_types(name, classify(name)); }

void expect(std::string_view name, DataType read, DataType written, bool converts) {
  const StatedTypes s = stated(name);
  EXPECT_EQ(s.read, read) << name;
  EXPECT_EQ(s.written, written) << name;
  EXPECT_EQ(s.converts, converts) << name;
}

TEST(StatedTypes, OfMostKernelsAreOneType) {
  using D = DataType;
  expect(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)",
      D::fp32, D::fp32, false);
  expect("void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, int, 512, true, 1, true>(float)",
         D::fp16, D::fp16, false);
  expect("nvjet_sm90_tst_192x32_64x7_4x1_v_bz_NTT", D::bf16, D::bf16, false);
  expect(
      "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<5, c10::Half, "
      "int>(int)",
      D::fp16, D::fp16, false);
}

TEST(StatedTypes, OfCopiesThatConvertDiffer) {
  using D = DataType;
  expect(
      "void at::native::vectorized_elementwise_kernel<8, at::native::float16_copy_kernel_cuda"
      "(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
      D::fp32, D::fp16, true);
  expect(
      "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda"
      "(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
      D::fp32, D::bf16, true);
  // What it reads is an argument of the launch.
  expect(
      "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
      "TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}, "
      "std::array<char*, 2ul>, 4, at::native::memory::LoadWithCast<1>, "
      "at::native::memory::StoreWithCast<1> >(int)",
      D::unknown, D::fp32, true);
}

TEST(StatedTypes, OfKernelsThatMoveBytesAreNone) {
  using D = DataType;
  expect("void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long)",
         D::unknown, D::unknown, false);
  expect("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", D::unknown,
         D::unknown, false);
}

}  // namespace
}  // namespace tandem

#include "models/kernel/work/work.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/operands_for_tests.h"

namespace tandem {
namespace {

using test::parse_tensors;

KernelWork work(const char* kernel, const char* op, const OpTensors& tensors,
                std::array<std::uint32_t, 3> grid, std::uint32_t block) {
  LaunchGeometry g;
  g.grid = grid;
  g.block = {block, 1, 1};
  return kernel_work(classify(kernel, op), OpContext{op, tensors, {}, g});
}

TEST(KernelWork, OutVariantsCountEachOperandOnce) {
  const char* kernel =
      "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int)";
  const auto out =
      parse_tensors("[[4096],[4096],[],[4096]]", R"(["float","float","Scalar","float"])");
  const KernelWork w = work(kernel, "aten::add", out, {4, 1, 1}, 128);
  EXPECT_TRUE(w.exact);
  EXPECT_EQ(w.read_bytes, 2 * 4096 * 4);
  EXPECT_EQ(w.write_bytes, 4096 * 4);
}

TEST(KernelWork, CopyReadsItsSecondArgument) {
  const char* kernel =
      "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda("
      "float), std::array<char*, 2ul>, 4, LoadWithCast<1> >(int)";
  const auto t = parse_tensors("[[512],[512]]", R"(["float","c10::Half"])");
  const KernelWork w = work(kernel, "aten::copy_", t, {1, 1, 1}, 128);
  EXPECT_EQ(w.read_bytes, 1024);
  EXPECT_EQ(w.write_bytes, 2048);
}

TEST(KernelWork, ExpandedOperandsAreReadOnce) {
  const char* kernel =
      "void at::native::elementwise_kernel<128, 2, "
      "gpu_kernel_impl_nocast<CUDAFunctor_add<float>, std::array<char*, 3ul> >";
  const auto t = parse_tensors("[[64,256],[64,256]]", R"(["float","float"])", "[[256,1],[0,1]]");
  const KernelWork w = work(kernel, "aten::add", t, {64, 1, 1}, 128);
  EXPECT_EQ(w.read_bytes, (64 * 256 + 256) * 4);
  EXPECT_EQ(w.index_dims, 2);
}

// One block takes a chunk of 65536 elements, filled to 0.85. The functor states how many lists it
// reads, after how many it has; fused optimizers read all of theirs; unnamed ones read one.
TEST(KernelWork, MultiTensorKernelsReadTheListsOfTheirFunctor) {
  const auto lists = [](const char* functor) {
    const std::string name =
        std::string("void at::native::multi_tensor_apply_kernel<TensorListMetadata<3>, ") +
        functor + ">(int)";
    const KernelWork w = work(name.c_str(), "", {}, {1, 1, 1}, 512);
    EXPECT_DOUBLE_EQ(w.write_bytes, 65536 * 0.85 * 4);
    return w.read_bytes / w.write_bytes;
  };
  EXPECT_EQ(lists("BinaryOpListAlphaFunctor<float, 3, 2, 2>, std::plus<float>, float"), 2);
  EXPECT_EQ(lists("PointwiseOpScalarFunctor<float, 3, 3, 0>, std::multiplies<float>"), 3);
  EXPECT_EQ(lists("UnaryOpFunctor<float, 2, 1, 1>, Sqrt<float>"), 1);
  EXPECT_EQ(lists("LpNormFunctor<float, (at::native::NormType)1, float, 1, 1, 0>"), 1);
  EXPECT_EQ(lists("FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)0, false>"), 4);
  EXPECT_EQ(lists("FusedSgdMathFunctor<float, 3>, float, float"), 3);
  EXPECT_EQ(lists("Something<float>"), 1);
}

}  // namespace
}  // namespace tandem

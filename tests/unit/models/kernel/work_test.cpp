#include "models/kernel/work/work.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tandem

#include "models/ops/tensors.h"

#include <gtest/gtest.h>

#include "models/kernel/work/work.h"
#include "sim/core/error.h"

namespace tandem {
namespace {

TEST(Tensors, ShapesTypesAndScalars) {
  const OpTensors t =
      parse_tensors("[[32,3],[],[],[5]]", R"(["c10::Half","Scalar","float","long int"])", "");
  ASSERT_EQ(t.shapes.size(), 3U);
  EXPECT_EQ(t.shapes[0].elements(), 96);
  EXPECT_EQ(t.shapes[0].type, DataType::fp16);
  EXPECT_EQ(t.shapes[1].elements(), 1);  // a tensor of no dimensions
  EXPECT_EQ(t.at(3)->type, DataType::int64);
  EXPECT_EQ(t.at(1), nullptr);
}

TEST(Tensors, StrideZeroIsExpanded) {
  const OpTensors t = parse_tensors("[[16,12,128]]", R"(["float"])", "[[128,0,1]]");
  EXPECT_EQ(t.shapes[0].elements(), 16 * 12 * 128);
  EXPECT_EQ(t.shapes[0].expanded, 12);
}

TEST(Tensors, ListsAreFlattened) {
  const OpTensors t = parse_tensors("[[[8,4],[8,6]],[]]", R"(["TensorList","Scalar"])", "");
  ASSERT_EQ(t.shapes.size(), 2U);
  EXPECT_EQ(t.arguments[1], 0);
  const OpTensors unknown = parse_tensors("[[],[]]", R"(["TensorList","Scalar"])", "");
  EXPECT_TRUE(unknown.lists_without_shapes);
  EXPECT_TRUE(unknown.shapes.empty());
}

TEST(Tensors, ManyDimensionsKeepTheirCount) {
  const OpTensors t = parse_tensors("[[2,3,4,5,6,7,8]]", R"(["float"])", "");
  EXPECT_EQ(t.shapes[0].rank, 6);
  EXPECT_EQ(t.shapes[0].elements(), 2 * 3 * 4 * 5 * 6 * 7 * 8);
}

TEST(Tensors, ChannelsLast) {
  const OpTensors t = parse_tensors("[[2,64,7,7]]", R"(["float"])", "[[3136,1,448,64]]");
  EXPECT_TRUE(t.shapes[0].channels_last);
}

TEST(Tensors, BadTextIsAnError) {
  EXPECT_THROW(parse_tensors("[[1,x]]", R"(["float"])", ""), InputError);
  EXPECT_THROW(parse_tensors("[[1,2]", R"(["float"])", ""), InputError);
}

TEST(Tensors, Arguments) {
  const auto arguments = parse_arguments(R"(["", "[3, 3]", "-1", "False"])");
  ASSERT_EQ(arguments.size(), 4U);
  EXPECT_EQ(parse_integers(arguments[1]), (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(parse_integers(arguments[2]), (std::vector<std::int64_t>{-1}));
  EXPECT_TRUE(parse_integers(arguments[3]).empty());
}

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
      parse_tensors("[[4096],[4096],[],[4096]]", R"(["float","float","Scalar","float"])", "");
  const KernelWork w = work(kernel, "aten::add", out, {4, 1, 1}, 128);
  EXPECT_TRUE(w.exact);
  EXPECT_EQ(w.read_bytes, 2 * 4096 * 4);
  EXPECT_EQ(w.write_bytes, 4096 * 4);
}

TEST(KernelWork, CopyReadsItsSecondArgument) {
  const char* kernel =
      "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda("
      "float), std::array<char*, 2ul>, 4, LoadWithCast<1> >(int)";
  const auto t = parse_tensors("[[512],[512]]", R"(["float","c10::Half"])", "");
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

#include "models/kernel/work/work.h"

#include <gtest/gtest.h>

#include <cmath>
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

// A channel's values beside 16-bit images in NHWC order. A lane holds 8 neighbours, 32 bytes of
// each FP32 vector: two requests, each over the sectors of 256 neighbours, which are all 96
// channels or 384 bytes: 2 x 384 / 256 = 3 bytes an element. With 2 neighbours one request over 64
// channels or 256 bytes: 4 bytes an element.
TEST(KernelWork, GeneratedKernelsLoadBroadcastOperandsForEveryElement) {
  const char* name = "triton_poi_fused__native_batch_norm_legit_functional_20";
  const auto t =
      parse_tensors("[[64,96,56,56],[1,96,1,1],[1,96,1,1],[96],[96],[64,96,56,56]]",
                    R"(["c10::Half","float","float","float","float","c10::Half"])",
                    "[[301056,1,5376,96],[96,1,96,96],[96,1,96,96],[1],[1],[301056,1,5376,96]]");
  const double elements = 64.0 * 96 * 56 * 56;
  const auto blocks = static_cast<std::uint32_t>(elements / 1024);
  const KernelWork wide = work(name, name, t, {blocks, 1, 1}, 128);
  EXPECT_EQ(wide.read_bytes, 2 * elements + 4 * 96 * 4);
  EXPECT_EQ(wide.write_bytes, 2 * elements);
  EXPECT_EQ(wide.l1_read_bytes, (2 + 4 * 3) * elements);
  const KernelWork narrow = work(name, name, t, {2 * blocks, 1, 1}, 256);
  EXPECT_EQ(narrow.l1_read_bytes, (2 + 4 * 4) * elements);
}

// FP32 values that become 16-bit ones: a lane holds 8 of each, which takes two requests over all
// sectors of the FP32 ones. A mean of a row of 768: one sector for the 256 neighbours of a warp.
TEST(KernelWork, GeneratedKernelsTouchSectorsOnceARequest) {
  const char* cast = "triton_poi_fused__to_copy_4";
  const auto t = parse_tensors("[[768,768],[768,768]]", R"(["float","c10::Half"])");
  EXPECT_EQ(work(cast, cast, t, {576, 1, 1}, 128).l1_read_bytes, 2 * 4 * 768 * 768);
  EXPECT_EQ(work(cast, cast, t, {1152, 1, 1}, 256).l1_read_bytes, 4 * 768 * 768);
  const char* norm = "triton_poi_fused_native_layer_norm_2";
  const auto rows = parse_tensors("[[16,512,768],[16,512,1],[16,512,768]]",
                                  R"(["c10::Half","float","c10::Half"])");
  const double elements = 16.0 * 512 * 768;
  EXPECT_EQ(work(norm, norm, rows, {6144, 1, 1}, 128).l1_read_bytes,
            elements * 2 + elements / 256 * 32);
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

// A mean's gradient: 16-bit rows divided by an integer without dimensions are 16-bit again. Where a
// value is infinite takes one byte.
TEST(KernelWork, ResultsHaveTheTypeOfOperandsWithDimensions) {
  const char* divide =
      "void at::native::elementwise_kernel<128, 4, "
      "gpu_kernel_impl_nocast<BUnaryFunctor<c10::Half, c10::Half, c10::Half, MulFunctor<float> > >";
  const auto t = parse_tensors("[[64,512],[]]", R"(["c10::Half","long int"])", "[[1,0],[]]");
  EXPECT_EQ(work(divide, "aten::div", t, {64, 1, 1}, 128).write_bytes, 64 * 512 * 2);
  const char* infinite = "void at::native::vectorized_elementwise_kernel<4, isneginf_kernel_impl>";
  const auto x = parse_tensors("[[4096]]", R"(["float"])");
  EXPECT_EQ(work(infinite, "aten::isneginf", x, {8, 1, 1}, 128).write_bytes, 4096);
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

// Rows of 32 numbers times one number each. The first operand does not move along a row, so the
// second decides that lanes walk along it: 2 bytes of each of its numbers, and of the first operand
// a sector of 32 bytes a warp, one byte a number.
TEST(KernelWork, LanesWalkAlongTheDimensionThatAnOperandIsDenseIn) {
  const char* kernel =
      "void at::native::elementwise_kernel<128, 4, gpu_kernel_impl_nocast<BinaryFunctor<c10::Half, "
      "c10::Half, c10::Half, MulFunctor<float> > > >(int)";
  const auto t = parse_tensors("[[256000,8,1],[256000,8,32]]", R"(["c10::Half","c10::Half"])",
                               "[[8,1,1],[256,32,1]]");
  const double elements = 256000.0 * 8 * 32;
  const KernelWork w = work(kernel, "aten::mul", t, {128000, 1, 1}, 128);
  EXPECT_TRUE(w.exact);
  EXPECT_EQ(w.elements, elements);
  EXPECT_EQ(w.l1_read_bytes, elements * (1 + 2));
  const auto turned = parse_tensors("[[256000,8,32],[256000,8,1]]", R"(["c10::Half","c10::Half"])",
                                    "[[256,32,1],[8,1,1]]");
  EXPECT_EQ(work(kernel, "aten::mul", turned, {128000, 1, 1}, 128).l1_read_bytes, elements * 3);
}

// A transposed operand: lanes walk along the rows of the first one, a sector of 32 bytes each in
// the second.
TEST(KernelWork, TheFirstOperandDecidesWhereBothMove) {
  const char* kernel =
      "void at::native::elementwise_kernel<128, 2, "
      "gpu_kernel_impl_nocast<CUDAFunctor_add<float> > >(int)";
  const auto t = parse_tensors("[[64,256],[64,256]]", R"(["float","float"])", "[[256,1],[1,64]]");
  const KernelWork w = work(kernel, "aten::add", t, {64, 1, 1}, 128);
  EXPECT_EQ(w.l1_read_bytes, 64 * 256 * (4 + 32));
}

TEST(KernelWork, OperandsAreThoseReadAndTheResult) {
  const std::string elementwise = "void at::native::elementwise_kernel<128, 2, ";
  const auto two = parse_tensors("[[512],[512]]", R"(["float","c10::Half"])");
  const std::string add = elementwise + "gpu_kernel_impl_nocast<CUDAFunctor_add<float> > >(int)";
  EXPECT_EQ(work(add.c_str(), "aten::add", two, {2, 1, 1}, 128).operands, 3);
  const std::string copy =
      elementwise + "gpu_kernel_impl_nocast<direct_copy_kernel_cuda(float)> >(int)";
  EXPECT_EQ(work(copy.c_str(), "aten::copy_", two, {2, 1, 1}, 128).operands, 2);
  // The name of this one says so.
  const char* vectorized =
      "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int)";
  EXPECT_EQ(work(vectorized, "aten::add", two, {1, 1, 1}, 128).operands, 3);
}

// Indices in a list are not recorded: a block has one, and copies a row of 8 x 32 numbers. Of 32000
// rows that 256000 indices name at random, 1 - exp(-8) are read.
// Parameter, two moments and the gradient of 1000 x 7 numbers, 28000 bytes each: four are read,
// three written. The numbers between them are none of it, nor is a grid that loops.
TEST(KernelWork, AnUpdateWritesAllButTheGradient) {
  const char* kernel =
      "void tensorflow::functor::ApplyAdamKernel<float>(int, float*, float*, float*, float const*)";
  const auto tensors = parse_tensors("[[1000,7],[1000,7],[1000,7],[],[],[1000,7]]",
                                     R"(["float","float","float","float","float","float"])");
  const KernelWork w = work(kernel, "ResourceApplyAdam", tensors, {2, 1, 1}, 1024);
  EXPECT_TRUE(w.exact);
  EXPECT_TRUE(w.in_place);
  EXPECT_EQ(w.read_bytes, 4 * 28000);
  EXPECT_EQ(w.write_bytes, 3 * 28000);
  EXPECT_EQ(w.written, 3);
}

// It sums what the kernel before has left of 4096 x 256 gradients: up to 32 parts of 256 columns.
TEST(KernelWork, SumsOfPartsDoNotReadTheWholeOperand) {
  const char* kernel =
      "void tensorflow::functor::CleanupSegments<float*, float*, cub::Sum>(float*, float*, int)";
  const auto gradients = parse_tensors("[[4096,256]]", R"(["float"])");
  const KernelWork w = work(kernel, "BiasAddGrad", gradients, {8, 1, 1}, 128);
  EXPECT_LE(w.read_bytes, 32 * 256 * 4);
  EXPECT_GT(w.read_bytes, 0);
}

TEST(KernelWork, ABlockGathersTheRowOfAnIndexThatWasNotRecorded) {
  const auto table = parse_tensors("[[32000,8,32],[]]", R"(["c10::Half","TensorList"])");
  const KernelWork w = work("void at::native::vectorized_gather_kernel<16, long>(char*)",
                            "aten::index", table, {256000, 1, 1}, 32);
  EXPECT_TRUE(w.exact);
  EXPECT_EQ(w.rows, 256000);
  EXPECT_EQ(w.elements, 256000.0 * 256);
  EXPECT_EQ(w.write_bytes, 256000.0 * 256 * 2);
  EXPECT_NEAR(w.read_bytes, 32000 * (1 - std::exp(-8.0)) * 256 * 2 + 256000 * 8, 1e-3);
}

TEST(KernelWork, GathersTheRowsOfARecordedIndex) {
  const auto t = parse_tensors("[[32000,8,32],[],[1000]]", R"(["c10::Half","Scalar","long int"])");
  const KernelWork w = work("void at::native::vectorized_gather_kernel<16, long>(char*)",
                            "aten::index_select", t, {999, 1, 1}, 32);
  EXPECT_EQ(w.elements, 1000.0 * 256);
}

// The list of indices is not recorded. Each names the place of a row of 8 x 32 values: 256000 of 8
// bytes are sorted.
TEST(KernelWork, IndicesThatWereNotRecordedAreThoseOfTheRows) {
  const char* sort =
      "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<Policy, false, long, long>(long*)";
  const auto t = parse_tensors("[[32000,8,32],[],[256000,8,32],[],[]]",
                               R"(["c10::Half","TensorList","c10::Half","Scalar","Scalar"])");
  const KernelWork w = work(sort, "aten::_index_put_impl_", t, {100, 1, 1}, 256);
  EXPECT_EQ(w.elements, 256000);
  EXPECT_EQ(w.read_bytes, 8 * 256000.0);
  EXPECT_EQ(w.write_bytes, 8 * 256000.0);
  const auto recorded = parse_tensors("[[32000,256],[],[4096],[4096,256]]",
                                      R"(["c10::Half","Scalar","long int","c10::Half"])");
  EXPECT_EQ(work(sort, "aten::index_put_", recorded, {100, 1, 1}, 256).elements, 4096);
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

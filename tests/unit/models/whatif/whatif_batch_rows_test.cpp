// Kernels with a block for each item and group of channels.
#include <gtest/gtest.h>

#include <string>

#include "models/whatif/batch/kernel.h"
#include "tests/operands_for_tests.h"
#include "tests/unit/models/whatif/whatif_batch_for_tests.h"

namespace tandem {
namespace {

constexpr std::string_view moments =
    "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long, float, "
    "float const*, float*, float*)";
constexpr std::string_view parameter_gradient =
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float>()";

/// Norms of images with one group of channels, whose sums are of images or of channels.
struct GroupNorm {
  explicit GroupNorm(std::string_view kernel_name, std::int64_t batch, std::uint32_t blocks) {
    op.name = "aten::native_group_norm";
    op.row = &op_row(op.name);
    op.tensors = test::parse_tensors("[[" + std::to_string(batch) + ",512,7,7],[512],[512]]");
    op.axis = {0, -1, -1};
    kernel.kernel = classify(kernel_name, op.name);
    kernel.geometry.grid = {blocks, 1, 1};
    kernel.geometry.block = {512, 1, 1};
    kernel.op = &op;
  }
  double at(std::int64_t base, std::int64_t batch, double us) const {
    const BatchChange change{test::gpu(), test::batch_law(), base, batch};
    return scale_kernel(change, kernel, resize(op, base, batch)).predict_us(us);
  }

  BatchOp op;
  BatchKernel kernel;
};

// 16 or 64 images of 100 kB stay in L2, each on an SM of its own: they take as long.
TEST(WhatifBatchRows, ImagesOnSmsOfTheirOwnRunSideBySide) {
  const GroupNorm norm(moments, 16, 16);
  EXPECT_NEAR(norm.at(16, 64, 40), 40, 0.01 * 40);
  EXPECT_NEAR(GroupNorm(moments, 64, 64).at(64, 16, 40), 40, 0.01 * 40);
}

// 132 SMs hold 4 blocks of 512 threads each.
TEST(WhatifBatchRows, MoreImagesThanTheGpuHoldsAtOnceTakeTheirTurns) {
  const GroupNorm norm(moments, 16, 16);
  const double full = norm.at(16, 4 * 132, 40), twice = norm.at(16, 2 * 4 * 132, 40);
  EXPECT_GT(twice, 1.9 * full);
}

// One block each 32 channels goes through all images: four times the images, four times as long.
TEST(WhatifBatchRows, SumsOverTheImagesKeepTheirBlocks) {
  const GroupNorm norm(parameter_gradient, 16, 16);
  EXPECT_GT(norm.at(16, 64, 40), 3 * 40);
}

constexpr std::string_view put_kernel =
    "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<"
    "at::native::index_put_kernel_impl<at::native::OpaqueType<2> >()>";

/// A word of `batch` items into caches of 1024 words of 8 heads of 64 halves.
double put_us(std::int64_t base, std::int64_t batch, std::uint32_t blocks, double us) {
  const std::string b = std::to_string(base);
  BatchOp op;
  op.name = "aten::_index_put_impl_";
  op.row = &op_row(op.name);
  op.tensors = test::parse_tensors("[[" + b + ",8,1024,64],[" + b + ",8,1,64]]");
  op.tensors.arguments = {0, 2};
  op.axis = {0, 0};
  BatchKernel kernel;
  kernel.kernel = classify(put_kernel, op.name);
  kernel.geometry.grid = {blocks, 1, 1};
  kernel.geometry.block = {128, 1, 1};
  kernel.op = &op;
  const BatchChange change{test::gpu(), test::batch_law(), base, batch};
  return scale_kernel(change, kernel, resize(op, base, batch)).predict_us(us);
}

// 128 threads with 4 values each: a block an item. 32 of them run beside each other on 132 SMs; of
// 1320 several wait for one SM.
TEST(WhatifBatchRows, ValuesThatAreWrittenSideBySideTakeAsLongAsOne) {
  EXPECT_NEAR(put_us(1, 32, 1, 3.2), 3.2, 1e-9);
  EXPECT_NEAR(put_us(32, 1, 32, 3.2), 3.2, 1e-9);
  EXPECT_GT(put_us(132, 1320, 132, 3.2), 3.2);
}

// One value a channel of an image of 512 channels, in one block, is none a pixel: 512 threads are
// too few for the 25088 pixels of an image of batch 1, as blocks for all of them are not.
TEST(WhatifBatchRows, ANumberForEachChannelDoesNotGrow) {
  const auto us = [](std::uint32_t blocks) {
    GroupNorm norm("void at::native::vectorized_elementwise_kernel<4, (anonymous namespace)>", 16,
                   blocks);
    return norm.at(16, 64, 40);
  };
  EXPECT_NEAR(us(1), 40, 1e-9);
  EXPECT_GT(us(16 * 512 * 49 / (4 * 512)), 2 * 40);
}

// One query of 1024 keys a head: 3.6 us and what the keys and values take, 4 times as much.
TEST(WhatifBatchRows, AQueryWaitsForItsKeysAndValues) {
  const auto us = [](const std::string& queries) {
    BatchOp op;
    op.name = "aten::_cudnn_attention_forward";
    op.row = &op_row(op.name);
    op.tensors = test::parse_tensors("[[8,16," + queries + ",64],[8,16,1024,64],[8,16,1024,64]]");
    op.axis = {0, 0, 0};
    BatchKernel kernel;
    kernel.kernel = classify("cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16", op.name);
    kernel.geometry.grid = {1, 16, 8};
    kernel.geometry.block = {128, 1, 1};
    kernel.op = &op;
    const BatchChange change{test::gpu(), test::batch_law(), 8, 32};
    return scale_kernel(change, kernel, resize(op, 8, 32)).predict_us(13.6);
  };
  EXPECT_NEAR(us("1"), 3.6 + 4 * (13.6 - 3.6), 0.01);
  EXPECT_LT(us("1024"), us("1"));  // in waves of blocks, of which the first is not full
}

}  // namespace
}  // namespace tandem

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

}  // namespace
}  // namespace tandem

// Products whose grid the traced kernel states: recurrent layers, kernels with an SM for each
// block.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/kernel/work/gemm_shape.h"
#include "models/whatif/batch/matrix.h"
#include "tests/operands_for_tests.h"
#include "tests/unit/models/whatif/whatif_batch_for_tests.h"

namespace tandem {
namespace {

// An LSTM of 64 steps, 1024 wide: gates 4096. Input, weights, -, buffer, state, cell.
BatchOp lstm(std::int64_t batch, bool backward) {
  const std::string b = std::to_string(batch);
  BatchOp op;
  op.name = backward ? "aten::_cudnn_rnn_backward" : "aten::_cudnn_rnn";
  op.row = &op_row(op.name);
  op.tensors = test::parse_tensors("[[64," + b + ",1024],[4096,1024],[],[],[2," + b + ",1024]]");
  op.axis.assign(op.tensors.shapes.size(), -1);
  op.axis[0] = 1;
  return op;
}

BatchKernel kernel(std::string_view name, const BatchOp& op, std::array<std::uint32_t, 3> grid) {
  BatchKernel k;
  k.kernel = classify(name, op.name);
  k.geometry.grid = grid;
  k.op = &op;
  return k;
}

constexpr std::string_view tensorop =
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4>(int)";
constexpr std::string_view warp_groups =
    "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x32_warpgroupsize1x1x1_execute_kernel";

TEST(WhatifBatchRecurrent, AStepPerLaunchHasTheSequencesAsColumns) {
  // Backward: 1024 rows are 16 tiles of 64. A grid of 8 x 2 is one column of tiles, in 4 parts of
  // k.
  const BatchOp at64 = lstm(64, true);
  const BatchKernel k = kernel(tensorop, at64, {8, 2, 4});
  const auto base = product_of(k, at64.tensors), next = product_of(k, resize(at64, 64, 256));
  ASSERT_TRUE(base && next);
  EXPECT_EQ(base->m, 1024);
  EXPECT_EQ(base->k, 4096);
  EXPECT_EQ(base->n, 64);
  EXPECT_EQ(next->n, 256);
  EXPECT_EQ(next->launches, 1);
}

TEST(WhatifBatchRecurrent, LaunchesOfTheInputsFollowTheBatchNotTheirColumns) {
  // 64 blocks are 4 columns of 16 tiles: 256 columns, 4 of the 64 steps of 64 sequences. At 16
  // sequences there are 1024 columns, a quarter of 4096.
  const BatchOp at64 = lstm(64, true);
  const BatchKernel k = kernel(warp_groups, at64, {4, 16, 1});
  const auto base = product_of(k, at64.tensors), next = product_of(k, resize(at64, 64, 16));
  ASSERT_TRUE(base && next);
  EXPECT_EQ(base->n, 256);
  EXPECT_EQ(next->n, 256);
  EXPECT_EQ(base->launches, 16);
  EXPECT_EQ(next->launches, 4);
  const BatchChange change{test::batch_gpu(), test::batch_law(), 64, 16};
  const KernelScaling s = scale_kernel(change, k, resize(at64, 64, 16));
  EXPECT_NEAR(s.predict_us(26), 26.0 / 4, 1e-9);
}

TEST(WhatifBatchRecurrent, NoLaunchHasMoreColumnsThanThereAre) {
  const BatchOp at64 = lstm(64, true);
  const BatchKernel k = kernel(warp_groups, at64, {4, 16, 1});
  const auto next = product_of(k, resize(at64, 64, 2));  // 64 steps of 2
  EXPECT_EQ(next->n, 128);
  EXPECT_EQ(next->launches, 1);
}

TEST(WhatifBatchMatrix, AKernelWithAnSmPerBlockGrowsByWholeRounds) {
  // 1024 x 16 is 16 tiles of 64 x 64, in 4 parts 64 blocks. 1024 x 128 is 128 blocks, still one for
  // each of the 132 SMs; 1024 x 256 is 256 blocks, two rounds; twice the k is twice the time.
  const BatchOp op = lstm(16, true);
  const BatchKernel k = kernel(tensorop, op, {8, 2, 4});
  const BatchChange change{test::batch_gpu(), test::batch_law(), 16, 128};
  const auto product = [](double n, double depth) {
    Product p;
    p.m = 1024, p.n = n, p.k = depth;
    return p;
  };
  const auto growth = [&](const Product& next) {
    return kept_kernel_growth(change, k, product(16, 4096), next);
  };
  EXPECT_EQ(growth(product(128, 4096)), 1);
  EXPECT_EQ(growth(product(256, 4096)), 2);
  EXPECT_EQ(growth(product(128, 8192)), 2);
}

TEST(WhatifBatchMatrix, ACrowdedKernelSaysNothingAboutItsBlocks) {
  const BatchOp op = lstm(16, true);
  const BatchChange change{test::batch_gpu(), test::batch_law(), 16, 128};
  Product p;
  p.m = 1024, p.n = 16, p.k = 4096;
  EXPECT_TRUE(std::isinf(kept_kernel_growth(change, kernel(tensorop, op, {16, 2, 8}), p, p)));
  EXPECT_TRUE(std::isinf(kept_kernel_growth(change, kernel("gemv", op, {8, 2, 4}), p, p)));
}

}  // namespace
}  // namespace tandem

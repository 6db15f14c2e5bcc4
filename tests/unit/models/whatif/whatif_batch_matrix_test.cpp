// Products whose grid the traced kernel states: recurrent layers. Depthwise layers.
#include <gtest/gtest.h>

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
  const BatchChange change{test::gpu(), test::batch_law(), 64, 16};
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

// 16 images of 1024 channels move 16.8 MB each way, of which L2 holds all; 64 move what it does not
// hold. A kernel that takes as long as its bytes follows them; one of a window of nine takes forty
// times as long and follows the images: near four times.
TEST(WhatifBatchDepthwise, WhatBytesDoNotExplainFollowsTheImages) {
  BatchOp op;
  op.name = "aten::_conv_depthwise2d";
  op.row = &op_row(op.name);
  op.tensors = test::parse_tensors("[[16,1024,16,16],[1024,1,9,9],[],[],[],[],[]]");
  op.axis.assign(op.tensors.shapes.size(), -1);
  op.axis[0] = 0;
  const BatchKernel k =
      kernel("conv_depthwise2d_forward_kernel_generic<c10::Half>", op, {4096, 1, 1});
  const BatchChange change{test::gpu(), test::batch_law(), 16, 64};
  const KernelScaling s = scale_kernel(change, k, resize(op, 16, 64));
  const double growth = s.target_us / s.base_us;
  EXPECT_GT(growth, 4.2);
  EXPECT_NEAR(s.predict_us(s.floor_us + s.base_us), s.floor_us + s.target_us, 1e-9);
  const double body = 40 * s.base_us;
  EXPECT_NEAR(s.predict_us(s.floor_us + body), s.floor_us + 4 * body, 0.01 * body);
}

}  // namespace
}  // namespace tandem

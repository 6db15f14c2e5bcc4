// Products of recurrent layers in another precision.
#include <gtest/gtest.h>

#include "models/kernel/classify/classify.h"
#include "tests/operands_for_tests.h"
#include "tests/unit/models/whatif/precision_for_tests.h"

namespace tandem {
namespace {

// A GRU of 200 steps of 32 sequences, 512 wide: each step multiplies 1536 x 512 weights by 32
// columns, a column of 24 tiles of 64 x 64, as long as a product of these sides takes by itself.
TEST(PrecisionRecurrent, AStepIsAProductOfItsSides) {
  const test::PrecisionBench s;
  const OpTensors operands = test::parse_tensors("[[200,32,512],[1536,512],[],[],[2,32,512]]");
  const LaunchGeometry grid{.grid = {24, 1, 1}, .block = {128, 1, 1}};
  const KernelClass kernel = classify(
      "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_warpgroupsize1x1x1_execute_kernel",
      "aten::_cudnn_rnn");
  const OpContext step{"aten::_cudnn_rnn", operands, {}, grid};
  const OpTensors sides = test::parse_tensors("[[1536,512],[512,32]]");
  const OpContext product{"aten::mm", sides, {}, grid};
  for (const DataType type : {DataType::fp16, DataType::tf32}) {
    const double us = recurrent_product_time(s.context(), kernel, step, type).time_us;
    EXPECT_GT(us, s.law.floor_us);
    EXPECT_NEAR(us, matmul_time(s.context(), product, type).time_us, 0.2 * us);
  }
  // Without operands nothing is known.
  const OpTensors none;
  const OpContext nothing{"aten::_cudnn_rnn", none, {}, grid};
  EXPECT_EQ(recurrent_product_time(s.context(), kernel, nothing, DataType::fp16).time_us, 0);
}

// Sequences are columns of the library's product, whose rows of 512 numbers are loaded whole
// however many there are: seven take no longer than eight.
TEST(PrecisionRecurrent, AnOddNumberOfSequencesIsAligned) {
  const test::PrecisionBench s;
  const LaunchGeometry grid{.grid = {24, 1, 1}, .block = {128, 1, 1}};
  const KernelClass kernel = classify(
      "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x32_warpgroupsize1x1x1_execute_kernel",
      "aten::_cudnn_rnn");
  const auto us = [&](std::string_view dims) {
    const OpTensors operands = test::parse_tensors(dims);
    const OpContext step{"aten::_cudnn_rnn", operands, {}, grid};
    return recurrent_product_time(s.context(), kernel, step, DataType::fp16).time_us;
  };
  const double eight = us("[[200,8,512],[1536,512],[],[],[2,8,512]]");
  EXPECT_GT(eight, 0);
  EXPECT_LE(us("[[200,7,512],[1536,512],[],[],[2,7,512]]"), eight);
}

}  // namespace
}  // namespace tandem

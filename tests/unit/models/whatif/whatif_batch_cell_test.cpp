#include <gtest/gtest.h>

#include "models/kernel/work/work.h"
#include "models/whatif/batch/memory.h"
#include "tests/operands_for_tests.h"

namespace tandem {
namespace {

// A step of an LSTM of 256 units on 64 sequences: 64 x 256 threads of four bytes a value. The batch
// what-if counts what the counters count; twice the batch is twice the bytes.
TEST(WhatifBatchCell, ACellReadsWhatItsCountersSay) {
  BatchOp op;
  op.name = "aten::_cudnn_rnn";
  op.row = &op_row(op.name);
  op.tensors = test::parse_tensors("[[50,64,256]]", R"(["float"])", "");
  op.axis = {1};
  BatchKernel k;
  k.kernel = classify("void LSTM_elementWise_fp<float, float, float>(int)", op.name);
  ASSERT_EQ(k.kernel.traits.kind, Kind::lstm_cell);
  k.geometry.grid = {64, 1, 1};
  k.geometry.block = {256, 1, 1};
  k.op = &op;
  const KernelWork work =
      kernel_work(k.kernel, OpContext{op.name, op.tensors, op.arguments, k.geometry});
  EXPECT_DOUBLE_EQ(work.read_bytes, 9 * 64 * 256 * 4);
  EXPECT_DOUBLE_EQ(touched_bytes(k, op.tensors, true), work.read_bytes);
  EXPECT_DOUBLE_EQ(touched_bytes(k, resize(op, 64, 128), true), 2 * work.read_bytes);
}

}  // namespace
}  // namespace tandem

// What generated kernels load, hold and convert, by the operands that they are launched with.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "models/kernel/classify/classify.h"
#include "models/kernel/work/features.h"
#include "models/kernel/work/work.h"
#include "tests/operands_for_tests.h"

namespace tandem {
namespace {

using test::row_major;

struct Launched {
  KernelWork work;
  KernelFeatures features;
};

/// A kernel of `blocks` blocks of 128 threads.
Launched launched(std::string_view name, std::uint32_t blocks, std::vector<TensorShape> shapes) {
  OpTensors tensors;
  for (const TensorShape& t : shapes) tensors.shapes.push_back(t);
  const KernelClass kernel = classify(name);
  const LaunchGeometry geometry{.grid = {blocks, 1, 1}, .block = {128, 1, 1}};
  KernelLaunch l;
  l.traits = kernel.traits;
  l.family = kernel.family;
  l.geometry = geometry;
  l.work = kernel_work(kernel, OpContext{name, tensors, {}, geometry});
  return {l.work, kernel_features(l)};
}

const TensorShape halves = row_major({64, 1024}, DataType::fp16);
const TensorShape floats = row_major({64, 1024}, DataType::fp32);
const TensorShape columns = row_major({1024}, DataType::fp32);
const TensorShape rows = row_major({64, 1}, DataType::fp32);

// 65536 elements over 64 x 128 lanes: each holds 8. FP16: 16 bytes, one request for 256 elements,
// 256 of them; FP32 columns: 32 bytes a lane, two requests. Converted: what is read and written.
TEST(GeneratedWork, LanesAskForWhatTheyHoldSixteenBytesAtATime) {
  const Launched l = launched("triton_poi_fused_add_0", 64, {halves, columns, halves});
  EXPECT_EQ(l.work.accesses, 256 + 2 * 256 + 256);
  EXPECT_EQ(l.features.loads, 1024);
  EXPECT_EQ(l.work.converted, 2 * 65536);
  EXPECT_EQ(l.features.converted, 2 * 65536 / 32);
  // Each request of a column vector touches all 1024 bytes that the warp meets.
  EXPECT_EQ(l.work.l1_read_bytes, 2 * 65536 + 512 * 1024);
  EXPECT_FALSE(l.work.in_place);
}

// Loops hold four. A sum over rows leaves 16 parts for each column; it loads the value of a row for
// every element, a sector a request, and that of a column once a warp.
TEST(GeneratedWork, SumsDownTheColumnsKeepTheirValues) {
  const TensorShape parts = row_major({16, 1024}, DataType::fp32);
  const Launched l = launched("triton_red_fused_mul_sum_0", 64, {floats, rows, columns, parts});
  const double warps = 64 * 4;
  // 65536 / 128 requests of four values, 65536 / 32 of one, one a warp, 16384 / 128.
  EXPECT_EQ(l.work.accesses, 512 + 2048 + warps + 128);
  EXPECT_EQ(l.work.l1_read_bytes, 4 * 65536 + 2048 * 32 + warps * 512);
  EXPECT_EQ(l.work.converted, 0);
}

// Along a row its value stays: a sector a warp.
TEST(GeneratedWork, SumsAlongARowLoadItsValueOnce) {
  const Launched l = launched("triton_red_fused_mul_sum_0", 64, {floats, rows, rows});
  const double warps = 64 * 4;
  EXPECT_EQ(l.work.accesses, 512 + 2 * warps);
  EXPECT_EQ(l.work.l1_read_bytes, 4 * 65536 + warps * 32);
}

// As many rows as columns: what has lost the inner dimension is still of the rows.
TEST(GeneratedWork, RowsOfASquareAreToldByTheDimensionTheyLost) {
  const TensorShape square = row_major({4, 128, 128}, DataType::fp32);
  const TensorShape of_rows = row_major({4, 128, 1}, DataType::fp32);
  const Launched l =
      launched("triton_red_fused__softmax_backward_data_0", 64, {square, of_rows, square});
  const double warps = 64 * 4;
  EXPECT_EQ(l.work.accesses, 2 * 512 + warps);
}

TEST(GeneratedWork, ResultsTakeThePlaceOfTheFirstOperandWhereNoneIsTheirs) {
  // The last operand is a vector, which a pointwise kernel of a matrix does not write.
  const Launched biased = launched("triton_poi_fused_add_relu_0", 64, {floats, columns});
  EXPECT_TRUE(biased.work.in_place);
  EXPECT_EQ(biased.work.write_bytes, 4 * 65536);
  EXPECT_EQ(biased.work.read_bytes, 4 * 65536 + 4 * 1024);
  EXPECT_TRUE(launched("triton_poi_fused_relu_0", 64, {floats}).work.in_place);
  // Zeros are only written.
  const Launched zeros = launched("triton_poi_fused_new_zeros_0", 64, {floats});
  EXPECT_FALSE(zeros.work.in_place);
  EXPECT_EQ(zeros.work.read_bytes, 0);
  EXPECT_EQ(zeros.work.write_bytes, 4 * 65536);
}

// NHWC in, NCHW out: the places of 65536 elements are computed.
TEST(GeneratedWork, AnotherInnerDimensionMovesTheElements) {
  const TensorShape turned = row_major({1024, 64}, DataType::fp32);
  EXPECT_EQ(launched("triton_poi_fused_clone_0", 64, {turned, floats}).features.indexed,
            65536 / 32);
  EXPECT_EQ(launched("triton_poi_fused_clone_0", 64, {floats, floats}).features.indexed, 0);
}

// 3136 rows of 49 begin at odd places, so each of the 64 x 128 lanes loads single elements: 153664
// / 32 requests an operand. A row of 64 places takes 32 lanes of two warps, which pass on its
// results in log2(64) = 6 steps; two rows are side by side in the four warps of a block, 32 of the
// 64 rows that it has place for one after the other. A softmax has two results of a row.
TEST(GeneratedWork, OddRowsAreLoadedAndPassedOnElementByElement) {
  const TensorShape odd = row_major({64, 49, 49}, DataType::fp16);
  const TensorShape largest = row_major({8, 8, 49, 1}, DataType::fp32);  // rows, of another rank
  const Launched sum = launched("triton_per_fused_sum_0", 64, {odd, largest});
  EXPECT_EQ(sum.work.passed, 64 * 4 * 32 * 6);
  EXPECT_EQ(sum.features.passed, sum.work.passed);
  const Launched softmax = launched("triton_per_fused__softmax_0", 64, {odd, largest, odd});
  EXPECT_EQ(softmax.work.passed, 2 * sum.work.passed);
  // Lanes load the row's value once a warp.
  EXPECT_EQ(softmax.work.accesses, 2 * 153664.0 / 32 + 64 * 4);
}

// Rows of 1024 take 16 bytes a lane, 128 lanes: one row a block, 7 steps of four warps. Loops pass
// on results once, which the price of a warp counts.
TEST(GeneratedWork, RowsThatLanesLoadAtOnceArePassedOnLess) {
  EXPECT_EQ(launched("triton_per_fused_sum_0", 64, {halves, rows}).work.passed, 64 * 4 * 7);
  EXPECT_EQ(launched("triton_red_fused_sum_0", 64, {halves, rows}).work.passed, 0);
}

}  // namespace
}  // namespace tandem

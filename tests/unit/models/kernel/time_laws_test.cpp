// Laws of time that what-ifs ask, with constants for which the sums are easy.
#include <gtest/gtest.h>

#include <cmath>

#include "models/kernel/time/laws/cached_memory.h"
#include "models/kernel/time/laws/type_ratios.h"
#include "tests/unit/models/kernel/time_laws_for_tests.h"

namespace tandem {
namespace {

using test::dram_bytes_per_us;
using test::fp32_shape;
using test::gpu;

TEST(L2Kept, FallsLinearlyBetweenTwoFootprints) {
  const double l2 = static_cast<double>(gpu().l2_bytes);
  EXPECT_DOUBLE_EQ(l2_kept(gpu(), 0), 1);
  EXPECT_DOUBLE_EQ(l2_kept(gpu(), 0.25 * l2), 0.75);
  EXPECT_DOUBLE_EQ(l2_kept(gpu(), 3 * l2), 0);
  const L2Keeps half{.full_share = 0.5, .none_share = 1.5};
  EXPECT_DOUBLE_EQ(l2_kept(gpu(), 0.5 * l2, half), 1);
  EXPECT_DOUBLE_EQ(l2_kept(gpu(), 0.75 * l2, half), 0.75);
  EXPECT_DOUBLE_EQ(l2_missed(gpu(), 0.75 * l2, half), 0.25);
}

// Half of the DRAM's peak: what the peak moves in 10 us takes 20. From L2 it is four times as fast.
TEST(CachedMemory, IsFasterByTheGainWhileBytesStayInL2) {
  CachedMemory memory;
  memory.dram_share = 0.5, memory.l2_gain = 4;
  memory.l2 = {.full_share = 2, .none_share = 3};
  const double bytes = 10 * dram_bytes_per_us();
  ASSERT_LT(bytes, 2.0 * static_cast<double>(gpu().l2_bytes));
  EXPECT_NEAR(cached_memory_us(gpu(), memory, bytes), 5, 1e-9);
  EXPECT_NEAR(cached_memory_us(gpu(), memory, 100 * bytes), 2000, 1e-9);
}

const TypeRatios& ratios() {
  static const TypeRatios instance = [] {
    TypeRatios r;
    r.convolution = 0.5, r.misaligned_convolution = 0.9, r.depthwise = 0.6;
    r.exponential_issue_cycles = 2, r.softmax_lane_cycles = 9, r.error_lane_cycles = 7,
    r.error_gradient_lane_cycles = 9;
    r.pointwise_dram_share = 0.8, r.mixed_slowdown = 2;
    r.reduction_power = 1, r.strided_power = 2;
    return r;
  }();
  return instance;
}

// Rows of 14 x 14 floats are 784 = 49 x 16 bytes, in 16 bits 392 bytes.
TEST(TypeRatios, ConvolutionsLoseAlignmentOnlyWhereRowsStopBeingAligned) {
  const auto ratio = [](const TensorShape& image, const TensorShape& weight, DataType from,
                        DataType to) {
    return convolution_ratio(ratios(), 16, image, weight, false, from, to);
  };
  constexpr auto fp32 = DataType::fp32, fp16 = DataType::fp16, bf16 = DataType::bf16;
  const TensorShape odd = fp32_shape({8, 64, 14, 14}), even = fp32_shape({8, 64, 28, 28});
  const TensorShape product = fp32_shape({64, 64, 1, 1}), window = fp32_shape({64, 64, 3, 3});
  EXPECT_EQ(ratio(odd, product, fp32, fp16), 0.9);
  EXPECT_EQ(ratio(even, product, fp32, fp16), 0.5);
  EXPECT_EQ(ratio(odd, window, fp32, fp16), 0.5);
  EXPECT_EQ(ratio(odd, fp32_shape({64, 1, 3, 3}), fp32, fp16), 0.6);
  EXPECT_EQ(ratio(even, product, fp16, fp32), 2);
  EXPECT_EQ(ratio(even, product, fp16, bf16), 1);
}

TEST(TypeRatios, MemoryBoundKernelsFollowTheirBytes) {
  const auto ratio = [](const BytesChange& change) { return memory_ratio(ratios(), change); };
  EXPECT_EQ(ratio({OpKind::pointwise, "aten::relu", false, false, false, 8, 4}), 0.5);
  EXPECT_EQ(ratio({OpKind::pooling, "aten::max_pool2d", false, false, false, 8, 4}), 1);
  // Half of a sum's time moves bytes: that half is halved. Of computed places 0.6 does: 0.36 of the
  // squares, of which a quarter is left; and four times as much the other way.
  EXPECT_EQ(ratio({OpKind::reduction, "aten::sum", false, false, false, 8, 4, 0.5}), 0.75);
  EXPECT_EQ(ratio({OpKind::pointwise, "aten::add", true, false, false, 8, 4, 0.6}),
            std::sqrt(1 - 0.75 * 0.36));
  EXPECT_EQ(ratio({OpKind::pointwise, "aten::add", true, false, false, 4, 8, 0.6}),
            std::sqrt(1 + 3 * 0.36));
  // Generated code computes the place of every element, too.
  EXPECT_EQ(ratio({OpKind::generated, "triton_poi_fused_add_0", false, false, false, 8, 4, 0.6}),
            std::sqrt(1 - 0.75 * 0.36));
  // Mixed operands cost time per byte, and give it back when they vanish.
  EXPECT_EQ(ratio({OpKind::pointwise, "aten::add", false, false, true, 12, 6}), 1);
  EXPECT_EQ(ratio({OpKind::pointwise, "aten::add", false, true, false, 6, 12}), 1);
}

// A cycle of every element is a tenth of the time before, of an FP32 lane as of an issue slot: the
// error function takes 0.7 of it, its gradient 0.9, a sigmoid 0.2, less than half the bytes. In 32
// bits bytes that took half of the time take all of it.
TEST(TypeRatios, ArithmeticPassesBesideTheBytes) {
  const auto ratio = [](std::string_view op, double before, double after, double moving,
                        double issue = 0.1) {
    return memory_ratio(ratios(), {OpKind::pointwise, op, false, false, false, before, after,
                                   moving, 0.1, false, issue});
  };
  EXPECT_DOUBLE_EQ(ratio("aten::gelu", 8, 4, 0.8), 0.7);
  EXPECT_DOUBLE_EQ(ratio("aten::gelu_backward", 8, 4, 0.8), 0.9);
  EXPECT_DOUBLE_EQ(ratio("aten::silu", 8, 4, 0.8), 0.5);
  // Two cycles of an issue slot that are 0.4 of the time each.
  EXPECT_DOUBLE_EQ(ratio("aten::silu", 8, 4, 0.8, 0.4), 0.8);
  EXPECT_DOUBLE_EQ(ratio("aten::gelu", 4, 8, 0.4), 1);
  EXPECT_DOUBLE_EQ(ratio("aten::gelu", 4, 8, 0.9), 2);  // no more than all of it
}

// A warp loads a number of a row at a time, whatever its width: 9 cycles that are a tenth of the
// time each. A block loads several at once, and follows the bytes.
TEST(TypeRatios, RowsThatAWarpTakesKeepTheirTime) {
  const auto ratio = [](bool warp) {
    return memory_ratio(
        ratios(), {OpKind::softmax, "aten::_softmax", false, false, false, 8, 4, 0.8, 0.1, warp});
  };
  EXPECT_DOUBLE_EQ(ratio(true), 0.9);
  EXPECT_DOUBLE_EQ(ratio(false), 0.5);
}

}  // namespace
}  // namespace tandem

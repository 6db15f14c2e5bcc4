// Gradients of tables and norms of groups, against what an H200 took for them in captures.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/workloads/lowered_for_tests.h"

namespace tandem {
namespace {

using test::row_major;

class LoweredTables : public test::LoweredOps {
 protected:
  std::vector<LoweredKernel> gradient(std::int64_t indices, std::int64_t width, std::int64_t rows) {
    TensorShape index = row_major({indices});
    index.type = DataType::int64;
    return lower("aten::embedding_dense_backward", {row_major({indices, width}), index},
                 {row_major({rows, width})}, Phase::backward);
  }

  /// Of all its kernels, or of those whose name holds `part`.
  static double us(const std::vector<LoweredKernel>& kernels, const std::string& part = "") {
    double sum = 0;
    for (const LoweredKernel& k : kernels) {
      if (k.name.find(part) != std::string::npos) sum += k.duration_us;
    }
    return sum;
  }

  std::vector<LoweredKernel> norm(std::int64_t images, std::int64_t channels, std::int64_t side,
                                  std::int64_t groups, Phase phase) {
    const TensorShape t = row_major({images, channels, side, side});
    const bool backward = phase == Phase::backward;
    if (backward) {
      return lower_with("aten::native_group_norm_backward", {t, t},
                        {{}, {}, {}, images, channels, side * side, groups}, {t}, phase);
    }
    return lower_with("aten::native_group_norm", {t},
                      {{}, {}, images, channels, side * side, groups}, {t}, phase);
  }
};

// 8192 words of a table of 30522 rows of 768: sorted by eight digits, each behind a memset, parts
// of rows counted, summed, put into zeros. Measured 224.7 us in 31 activities (BERT), of which 57.4
// and 57.5 sum and 27.9 are zeros.
TEST_F(LoweredTables, ManyIndicesAreSortedAndSummedInParts) {
  const auto kernels = gradient(8192, 768, 30522);
  EXPECT_EQ(kernels.size(), 31U);
  EXPECT_NEAR(us(kernels), 224.7, 15);
  EXPECT_NEAR(us(kernels, "compute_grad_weight"), 57.4, 4);
  EXPECT_NEAR(us(kernels, "sum_and_scatter"), 57.5, 5);
  EXPECT_NEAR(us(kernels, "FillFunctor"), 24, 4);
  EXPECT_EQ(std::count_if(kernels.begin(), kernels.end(),
                          [](const LoweredKernel& k) {
                            return k.name.find("Onesweep") != std::string::npos;
                          }),
            8);
}

// 4194304 indices of two columns: 943718 blocks of a warp take 158 cycles of an SM each, 570 us
// (570 measured); all of it 1420 us.
TEST_F(LoweredTables, SmallBlocksTakeTheirTurnsOnAnSm) {
  const auto kernels = gradient(4194304, 2, 524288);
  EXPECT_NEAR(us(kernels, "compute_grad_weight"), 943718 / 132.0 * 158 / 1980, 15);
  EXPECT_NEAR(us(kernels), 1420, 100);
}

// Parts of two rows are added there at once: 16384 indices in 123 us (Megatron), 172032 in 414 us.
TEST_F(LoweredTables, PartsOfFewRowsAreAddedAtOnce) {
  const auto kernels = gradient(16384, 768, 2);
  EXPECT_EQ(us(kernels, "sum_and_scatter"), 0);
  EXPECT_GT(us(kernels, "atomic_accumulate"), 0);
  EXPECT_NEAR(us(kernels), 123, 15);
  EXPECT_NEAR(us(gradient(172032, 300, 2)), 414, 130);
  // Rows of few parts, and many rows, are not.
  EXPECT_GT(us(gradient(8192, 768, 514), "sum_and_scatter"), 0);
  EXPECT_GT(us(gradient(102400, 64, 1000), "sum_and_scatter"), 0);
}

// 2048 indices take their turns: 40 to 48 us where the table lies in L2, 92 to 95 beyond, 128 where
// they name two rows.
TEST_F(LoweredTables, FewIndicesTakeTheirTurns) {
  const auto turns = [&](std::int64_t rows) {
    return us(gradient(2048, 768, rows), "feature_kernel");
  };
  EXPECT_NEAR(turns(1026), 45, 4);
  EXPECT_NEAR(turns(50257), 93, 6);
  EXPECT_NEAR(turns(2), 128, 6);
}

// A group alone on its SM takes 0.9 cycles an element, 200704 of them 91 us (114 measured); four on
// each of 132 SMs twice as long an element: 4096 groups of 24576 take 210 us, a warp's 49152 groups
// of 64 elements 32 us.
TEST_F(LoweredTables, GroupsAreGoneThroughByABlockEach) {
  const auto moments = [&](std::int64_t images, std::int64_t channels, std::int64_t side,
                           std::int64_t groups) {
    return us(norm(images, channels, side, groups, Phase::forward), "RowwiseMoments");
  };
  EXPECT_NEAR(moments(32, 64, 56, 1), 114, 25);
  EXPECT_NEAR(moments(128, 192, 64, 32), 210, 20);
  EXPECT_NEAR(moments(6144, 512, 1, 8), 31.6, 6);
}

// Backward: 36864 planes of 4096 pixels in 373 us, 73728 of 64 pixels, a warp each, in 46.
TEST_F(LoweredTables, GradientsOfGroupsAreSummedPlaneByPlane) {
  const auto kernels = norm(128, 288, 64, 32, Phase::backward);
  ASSERT_EQ(kernels.size(), 5U);
  EXPECT_NEAR(us(kernels, "ComputeInternalGradients"), 373, 45);
  EXPECT_NEAR(us(kernels, "GammaBeta"), 38, 14);
  EXPECT_NEAR(us(norm(128, 576, 8, 32, Phase::backward), "ComputeInternalGradients"), 46, 9);
}

// Losses that are kept have a thread each: 10.6 us for 279424 rows, where one block reduces a row
// after another.
TEST_F(LoweredTables, KeptLossesHaveAThreadEach) {
  TensorShape targets = row_major({279424});
  targets.type = DataType::int64;
  const auto loss = [&](std::int64_t reduction) {
    return us(lower_with("aten::nll_loss_forward", {row_major({279424, 91}), targets},
                         {{}, reduction}, {row_major({279424})}));
  };
  EXPECT_NEAR(loss(0), 10.6, 2);
  EXPECT_GT(loss(1), 1000);
}

}  // namespace
}  // namespace tandem

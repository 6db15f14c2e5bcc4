// Laws of what compilers generate and of sums, with constants for which the sums are easy.
#include "models/kernel/time/laws/generated_code.h"

#include <gtest/gtest.h>

#include "models/kernel/launch_rules.h"
#include "models/kernel/time/laws/embedding_gradient.h"
#include "models/kernel/time/laws/framework_sums.h"
#include "models/kernel/time/laws/row_sums.h"
#include "tests/unit/models/kernel/time_laws_for_tests.h"

namespace tandem {
namespace {

using test::dram_bytes_per_us;
using test::gpu;

GeneratedCode easy_code() {
  GeneratedCode code;
  code.pointwise = {.floor_us = 1, .dram_share = 0.5};
  code.reduction = {.floor_us = 2, .dram_share = 1};
  code.row = {.floor_us = 3, .dram_share = 1};
  code.pointwise_l2_share = 2;
  code.cold_dram_share = 0.25;
  code.narrow_elements = 1e6, code.narrow_ratio = 2;
  code.half_add_us = 1e-3;
  code.sector_add_us = 0.25, code.uneven_adds = 1;
  code.finish_us = 2, code.short_finish_us = 1, code.short_finish_bytes = 400;
  code.transposed_share = 0.25, code.strided_gradient_share = 0.125;
  code.strided_row_lane_cycles = 50;
  code.random_lane_cycles = 100;
  code.random_row_lane_cycles = 40, code.random_column_lane_cycles = 0.5;
  code.random_softmax_lane_cycles = 150;
  code.moments_lane_cycles = 33;
  code.short_column_ratio = 3;
  code.uneven_ratio = 2, code.image_moments_lane_cycles = 40;
  code.sum_step_us = 0.5;
  return code;
}

TEST(GeneratedCode, TakesAFloorAndItsBytes) {
  const GeneratedCode code = easy_code();
  const double bytes = 100 * dram_bytes_per_us();  // 480 MB: no L2 keeps that
  EXPECT_NEAR(generated_us(gpu(), code, {.bytes = bytes}), 1 + 200, 1e-9);
  EXPECT_NEAR(generated_us(gpu(), code, {.kind = GeneratedKind::reduction, .bytes = bytes}),
              2 + 100, 1e-9);
  // Means and variances cost lanes beside bytes; the longer counts.
  EXPECT_NEAR(generated_moments_us(gpu(), code, bytes, 1), 102, 1e-9);
  const double elements = 1e9;
  EXPECT_NEAR(generated_moments_us(gpu(), code, bytes, elements), 2 + lane_us(gpu(), 33 * elements),
              1e-9);
}

// What a softmax gathers comes on top of holding its rows; in loops it passes beside the bytes.
TEST(GeneratedCode, WhatASoftmaxGathersTakesLanes) {
  const GeneratedCode code = easy_code();
  const double bytes = 100 * dram_bytes_per_us(), cycles = 1e9;
  GeneratedWork work{.kind = GeneratedKind::row, .bytes = bytes};
  const double held_us = generated_us(gpu(), code, work);
  work.softmax_cycles = cycles;
  EXPECT_NEAR(generated_us(gpu(), code, work), held_us + lane_us(gpu(), cycles), 1e-9);
  work.kind = GeneratedKind::reduction;
  EXPECT_NEAR(generated_us(gpu(), code, work), 2 + 100, 1e-9);
  work.softmax_cycles = 1e12;
  EXPECT_NEAR(generated_us(gpu(), code, work), 2 + lane_us(gpu(), 1e12), 1e-6);
}

// Parts of unequal length take twice as long; running means cost more where places are computed.
TEST(GeneratedCode, SumsOverChannelsOfImagesAreSlower) {
  const GeneratedCode code = easy_code();
  const double bytes = 100 * dram_bytes_per_us(), elements = 1e9;
  GeneratedWork work{.kind = GeneratedKind::reduction, .bytes = bytes, .order = SumOrder::images};
  EXPECT_NEAR(generated_us(gpu(), code, work), 2 + 100, 1e-9);
  work.order = SumOrder::uneven_images;
  EXPECT_NEAR(generated_us(gpu(), code, work), 2 + 200, 1e-9);
  work.order = SumOrder::short_columns;  // three times as long
  EXPECT_NEAR(generated_us(gpu(), code, work), 2 + 300, 1e-9);
  EXPECT_NEAR(generated_moments_us(gpu(), code, bytes, elements, SumOrder::images),
              2 + lane_us(gpu(), 40 * elements), 1e-9);
  EXPECT_NEAR(generated_moments_us(gpu(), code, bytes, elements, SumOrder::uneven_images),
              2 + lane_us(gpu(), 80 * elements), 1e-9);
}

// 16 loads one after the other, 0.5 us each, beside next to no bytes.
TEST(GeneratedCode, AThreadsLoadsFollowOneAnother) {
  const GeneratedWork work{.kind = GeneratedKind::reduction, .bytes = 1, .steps = 16};
  EXPECT_NEAR(generated_us(gpu(), easy_code(), work), 2 + 8, 1e-9);
}

// 1 us of bytes, a quarter of them from DRAM at a quarter of its rate (1 us), the rest from L2 at
// twice its rate (0.375 us). Of the L2 they fill the share f: so much passes at half of DRAM's
// rate, all of them in 2 us.
TEST(GeneratedCode, ReadsFromL2WhatAnEarlierKernelLeftThere) {
  const double bytes = dram_bytes_per_us(), f = bytes / double(gpu().l2_bytes);
  EXPECT_NEAR(generated_us(gpu(), easy_code(), {.bytes = bytes, .cold_bytes = bytes / 4}),
              1 + (1 - f) * (1 + 0.375) + f * 2, 1e-9);
  EXPECT_NEAR(generated_us(gpu(), easy_code(), {.bytes = bytes, .transposed = true}), 1 + 4, 1e-9);
}

// Up to 1e6 elements the threads are narrow: twice the cycles.
TEST(GeneratedCode, ShortKernelsHaveNarrowThreads) {
  const double cycles = 1e9;
  const auto us = [&](double elements) {
    return generated_us(gpu(), easy_code(), {.elements = elements, .lane_cycles = cycles});
  };
  EXPECT_NEAR(us(1e6), 1 + 2 * lane_us(gpu(), cycles), 1e-9);
  EXPECT_NEAR(us(1e6 + 1), 1 + lane_us(gpu(), cycles), 1e-9);
}

// 12 adds that meet in one sector, a quarter of a microsecond each, behind 2 us of bytes.
TEST(GeneratedCode, AddsToOneSectorFollowOneAnother) {
  const GeneratedWork work{
      .kind = GeneratedKind::reduction, .bytes = 2 * dram_bytes_per_us(), .adds_in_turn = 12};
  EXPECT_NEAR(generated_us(gpu(), easy_code(), work), 2 + 2 + 3, 1e-9);
}

// 100 partial sums are 400 bytes.
TEST(GeneratedCode, FewPartialSumsAreAddedSooner) {
  EXPECT_EQ(easy_code().finishing_us(100), 1);
  EXPECT_EQ(easy_code().finishing_us(101), 2);
}

// 5000 values of 1 ns each behind 2 us of bytes.
TEST(GeneratedCode, SumsInMemoryOfHalfPrecisionFollowOneAnother) {
  const GeneratedWork work{
      .kind = GeneratedKind::reduction, .bytes = 2 * dram_bytes_per_us(), .half_adds = 5000};
  EXPECT_NEAR(generated_us(gpu(), easy_code(), work), 2 + 2 + 5, 1e-9);
}

// A value a sector of 32 bytes, at a tenth of the L2's rate.
TEST(GeneratedCode, SingleValuesReachTheirPlacesBySector) {
  GeneratedCode code = easy_code();
  code.added_l2_share = 0.1;
  const double adds = 1e6, us = adds * 32 / (gpu().l2_read_gbps * 1e3 * 0.1);
  EXPECT_NEAR(generated_us(gpu(), code, {.adds = adds}), 1 + us, 1e-9);
}

TEST(GeneratedCode, SumsOverColumnsThatLieAcrossHaveARateOfTheirOwn) {
  GeneratedCode code = easy_code();
  code.across_sum_share = 0.1;
  const GeneratedWork work{
      .kind = GeneratedKind::reduction, .bytes = dram_bytes_per_us(), .transposed = true};
  EXPECT_NEAR(generated_us(gpu(), code, work), 2 + 10, 1e-9);
}

// 30000 rows of 64 columns are 15 MB and stay in L2; of 256 columns they are 61 and do not.
TEST(RowSums, BlocksWalkOverAllRowsOrAddUpParts) {
  const RowSums sums{.kept_row_us = 0.002, .row_us = 0.004, .l2 = {0.38, 0.73}, .parts_us = 20};
  const CachedMemory memory{.dram_share = 0.5, .l2_gain = 2, .l2 = {0.5, 1}, .lone_dram = 1};
  EXPECT_NEAR(row_sums_us(gpu(), sums, memory, 30000, 64), 60, 1e-9);
  EXPECT_NEAR(row_sums_us(gpu(), sums, memory, 30000, 256), 120, 1e-9);
  EXPECT_FALSE(sums_rows_in_parts(gpu(), 65536, 64));
  EXPECT_TRUE(sums_rows_in_parts(gpu(), 65537, 64));
  EXPECT_FALSE(sums_rows_in_parts(gpu(), 65537, 32.0 * gpu().sm_count));
  EXPECT_NEAR(row_sums_us(gpu(), sums, memory, 100000, 64),
              cached_memory_us(gpu(), memory, 8 * 100000.0 * 64), 1e-9);
}

TEST(GeneratedCode, ArithmeticRunsBesideMemoryButNotWithinARow) {
  const GeneratedCode code = easy_code();
  const double bytes = 100 * dram_bytes_per_us(), numbers = 1e9;
  EXPECT_NEAR(generated_us(gpu(), code, {.bytes = bytes, .random_numbers = numbers}),
              1 + std::max(200.0, lane_us(gpu(), 100 * numbers)), 1e-9);
  EXPECT_NEAR(generated_us(gpu(), code, {.bytes = bytes, .lane_cycles = 1}), 1 + 200, 1e-9);
  // Rows of 200 elements: 40 + 0.5 x 200 cycles a number, after the bytes.
  const GeneratedWork rows{.kind = GeneratedKind::row,
                           .bytes = bytes,
                           .random_numbers = numbers,
                           .row_elements = 200,
                           .rows = numbers / 200};
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3 + 100 + lane_us(gpu(), 140 * numbers), 1e-6);
}

// Rows of 145 lie in 256 places, each of which draws a number in 150 cycles; rows of 1600 in 2048.
TEST(GeneratedCode, PlacesBeyondARowDrawRandomNumbersToo) {
  const GeneratedCode code = easy_code();
  GeneratedWork rows{.kind = GeneratedKind::row,
                     .bytes = 1,
                     .random_numbers = 1e9,
                     .row_elements = 145,
                     .rows = 1,
                     .softmax = true};
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3 + lane_us(gpu(), 150e9 * 256 / 145), 1e-6);
  rows.row_elements = 256;
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3 + lane_us(gpu(), 150e9), 1e-6);
  rows.row_elements = 1600;
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3 + lane_us(gpu(), 150e9 * 2048 / 1600), 1e-6);
}

// Rows of 100 fill 128 places, so 32 of them share a block of 4096, of which 132000 are 4125, 31.25
// an SM; rows of 16 are 128 a block. Of rows of 300 in 512 places two share a block of 1024; rows
// in loops are two a block whatever their length, and further operands take a quarter longer each.
TEST(GeneratedCode, BlocksOfRowsKeepTheirPlacesInTheSms) {
  GeneratedCode code = easy_code();
  code.row_block_us = 0.08, code.looped_operand_ratio = 0.25;
  const double sms = gpu().sm_count;
  GeneratedWork rows{.kind = GeneratedKind::row, .bytes = 1, .row_elements = 100, .rows = 132000};
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3 + 4125 / sms * 0.08, 1e-9);
  rows.row_elements = 16;
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3 + 132000 / 128.0 / sms * 0.08, 1e-9);
  rows.row_elements = 300;
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3 + 66000 / sms * 0.08, 1e-9);
  rows.kind = GeneratedKind::reduction, rows.looped = true, rows.row_operands = 3;
  EXPECT_NEAR(generated_us(gpu(), code, rows), 2 + 1.5 * 66000 / sms * 0.08, 1e-9);
}

// 64 places of a row of 49, an element a lane, are two warps, which pass each other its sums: 10
// cycles, and 10 for each. Lanes that load eight elements of rows of 64 are a quarter of a warp.
TEST(GeneratedCode, WarpsThatShareARowPassItsSumsToEachOther) {
  GeneratedCode code = easy_code();
  code.shared_row_lane_cycles = 10;
  GeneratedWork rows{
      .kind = GeneratedKind::row, .bytes = 1, .row_elements = 49, .rows = 1e9, .row_sums = 2};
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3 + lane_us(gpu(), 30e9), 1e-6);
  rows.row_elements = 64, rows.row_vector = 8;
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3, 1e-3);
  rows.row_elements = 197, rows.row_vector = 1;  // a warp of its own
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3, 1e-3);
}

// 50 cycles for each element of what is read and written, of whatever type; gradients by bytes, at
// an eighth of DRAM's rate.
TEST(GeneratedCode, RowsThatLieAcrossTakeTheirElements) {
  GeneratedWork rows{.kind = GeneratedKind::row,
                     .bytes = dram_bytes_per_us(),
                     .transposed = true,
                     .operand_elements = 1e9};
  EXPECT_NEAR(generated_us(gpu(), easy_code(), rows), 3 + lane_us(gpu(), 50e9), 1e-6);
  rows.gradient = true;
  EXPECT_NEAR(generated_us(gpu(), easy_code(), rows), 3 + 8, 1e-9);
}

// Sums over images and pixels of [24, 256, 14, 14] on an H100: 4704 values of each of 256 channels.
// 512 threads are 32 along the values by 16; a thread of 147 values, fewer than 256, leaves the 16
// rows a channel each, in 16 blocks. Of twice the images it would add 294: the rows share a
// channel, 19 values a thread, a block a channel. Of 48 images of 56 x 56 a thread adds 294, and
// three blocks share a channel, as many as fill 132 x 4 places. All three launches were traced.
TEST(FrameworkSums, AreCutAsTheFrameworkDoes) {
  GpuArch h100 = gpu();
  h100.sm_count = 132;
  h100.max_threads_per_sm = 2048;
  struct Case {
    std::int64_t inputs, blocks, parts, values;
  };
  for (const Case& c :
       {Case{24 * 196, 16, 1, 147}, Case{48 * 196, 256, 1, 19}, Case{48 * 3136, 256, 3, 98}}) {
    const SumGrid g = sum_grid({256, c.inputs, SumForm::pieces, false}, h100);
    EXPECT_EQ(g.threads_x, 32);
    EXPECT_EQ(g.threads_y, 16);
    EXPECT_EQ(g.blocks, c.blocks);
    EXPECT_EQ(g.parts, c.parts);
    EXPECT_EQ(g.values, c.values);
  }
}

// A wave of 2 us and 10 values of 0.5 us each in a column, 1 in a piece, 0.25 in a row; 3 us for
// blocks that share a result, and 0.25 for each step in which the last one adds what 40 of them
// left: by 16 threads in three steps, by 512 in one.
TEST(FrameworkSums, WaitForWavesAndForEachOther) {
  const SumPace pace{2, 0.25, 1, 0.5, 3, 0.25};
  SumGrid g{.threads_x = 32, .threads_y = 16, .blocks = 10, .parts = 1, .values = 10};
  EXPECT_DOUBLE_EQ(sum_waiting_us(gpu(), pace, g), 2 + 2.5);
  g.form = SumForm::pieces;
  EXPECT_DOUBLE_EQ(sum_waiting_us(gpu(), pace, g), 2 + 10);
  g.form = SumForm::columns;
  EXPECT_DOUBLE_EQ(sum_waiting_us(gpu(), pace, g), 2 + 5);
  g.blocks = 1, g.parts = 40, g.adders = 16;
  EXPECT_DOUBLE_EQ(sum_waiting_us(gpu(), pace, g), 2 + 5 + 3 + 0.75);
  g.adders = 512;
  EXPECT_DOUBLE_EQ(sum_waiting_us(gpu(), pace, g), 2 + 5 + 3 + 0.25);
}

TEST(EmbeddingGradient, SortsManyTokens) {
  const EmbeddingGradient gradient{.token_us = 0.5, .sort_us = 30, .sort_token_us = 0.01};
  EXPECT_DOUBLE_EQ(embedding_gradient_us(gradient, 3000), 1500);
  EXPECT_DOUBLE_EQ(embedding_gradient_us(gradient, 4000), 30 + 40);
}

}  // namespace
}  // namespace tandem

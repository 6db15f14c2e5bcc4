// Laws of time that what-ifs ask, with constants for which the sums are easy.
#include <gtest/gtest.h>

#include <cmath>

#include "models/arch/gpu_config.h"
#include "models/kernel/launch_rules.h"
#include "models/kernel/time/attention.h"
#include "models/kernel/time/laws/attention.h"
#include "models/kernel/time/laws/channel_norm.h"
#include "models/kernel/time/laws/column_sums.h"
#include "models/kernel/time/laws/generated_code.h"
#include "models/kernel/time/laws/library_products.h"
#include "models/kernel/time/laws/product_growth.h"
#include "models/kernel/time/laws/row_sums.h"
#include "models/kernel/time/laws/type_ratios.h"
#include "models/kernel/time/time_constants.h"
#include "tests/gpus_for_tests.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

using test::gpu;  // an H200: 132 SMs, 50 MiB of L2
double dram_bytes_per_us() { return gpu().dram_peak_gbps * 1e3; }

TensorShape shape(std::initializer_list<std::int64_t> dims) {
  TensorShape t;
  for (const std::int64_t d : dims) t.dims[t.rank++] = d;
  t.type = DataType::fp32;
  return t;
}

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

GeneratedCode easy_code() {
  GeneratedCode code;
  code.pointwise = {.floor_us = 1, .dram_share = 0.5};
  code.reduction = {.floor_us = 2, .dram_share = 1};
  code.row = {.floor_us = 3, .dram_share = 1};
  code.pointwise_l2_share = 2;
  code.cold_dram_share = 0.25;
  code.narrow_elements = 1e6, code.narrow_ratio = 2;
  code.half_add_us = 1e-3;
  code.transposed_share = 0.25, code.strided_row_share = 0.125;
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

// Rows of 100 fill 128 places, so 8 of them share a block of 1024; 132000 rows are 16500 blocks,
// 125 an SM.
TEST(GeneratedCode, ManyShortRowsCostBlocks) {
  GeneratedCode code = easy_code();
  code.row_block_us = 0.08;
  code.softmax_block_ratio = 3;
  GeneratedWork rows{.kind = GeneratedKind::row, .bytes = 1, .row_elements = 100, .rows = 132000};
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3 + 125 * 0.08, 1e-9);
  rows.softmax = true;
  EXPECT_NEAR(generated_us(gpu(), code, rows), 3 + 125 * 0.08 * 3, 1e-9);
}

// 1024 values by 32 threads: 32 each, 8 steps of four loads. In 2 blocks half of that, and the last
// block adds up 2 partial sums with 32 threads.
TEST(ColumnSums, AreStepsOfAThread) {
  const ColumnSums sums{.step_us = 1, .split_us = 5};
  CachedMemory memory;
  memory.dram_share = memory.l2_gain = 1;
  EXPECT_DOUBLE_EQ(column_sum_us(gpu(), sums, memory, {1024, 32, 1, 0}), 8);
  EXPECT_DOUBLE_EQ(column_sum_us(gpu(), sums, memory, {1024, 32, 2, 0}), 4 + 5 + 2.0 / 32);
}

TEST(EmbeddingGradient, SortsManyTokens) {
  const EmbeddingGradient gradient{.token_us = 0.5, .sort_us = 30, .sort_token_us = 0.01};
  EXPECT_DOUBLE_EQ(embedding_gradient_us(gradient, 3000), 1500);
  EXPECT_DOUBLE_EQ(embedding_gradient_us(gradient, 4000), 30 + 40);
}

/// Of the H200: 2048 FP16 multiply-adds, 16 exponentials and 128 FP32 lanes an SM, 1980 MHz.
AttentionPace easy_pace(bool backward) {
  AttentionPace pace;
  pace.type = DataType::fp16, pace.backward = backward;
  pace.own_rows = 128, pace.walked_rows = backward ? 64 : 128, pace.lanes = 128;
  pace.floor_us = 1, pace.start_cycles = 100, pace.tile_cycles = 376, pace.wide_ratio = 2;
  pace.dropout_cycles = 1000, pace.diagonal_cycles = 20;
  pace.mask_start_cycles = 30, pace.mask_cycles = 40, pace.odd_mask_cycles = 60;
  return pace;
}
double cycles_of(const AttentionShape& shape, bool backward = false) {
  constexpr double no_memory = 1e9;
  return (attention_us(gpu(), easy_pace(backward), no_memory, shape) - 1) * 1980;
}

// A tile: 2 x 128 x 128 x 64 / 2048 = 1024 cycles of products, 128 x 128 / 16 = 1024 of
// exponentials, 376 more: 2424. 64 heads of 256 queries are 128 blocks, one an SM, of two tiles.
TEST(Attention, BlocksWalkOverTiles) {
  AttentionShape shape{.heads = 64, .queries = 256, .keys = 256, .width = 64};
  EXPECT_NEAR(cycles_of(shape), 100 + 2 * 2424, 1e-6);
  shape.heads = 67;  // 134 blocks: two SMs have two
  EXPECT_NEAR(cycles_of(shape), 2 * (100 + 2 * 2424), 1e-6);
  shape.heads = 64, shape.keys = 130;  // as good as 256
  EXPECT_NEAR(cycles_of(shape), 100 + 2 * 2424, 1e-6);
  shape.keys = 256, shape.drops_out = true;
  EXPECT_NEAR(cycles_of(shape), 100 + 2 * 3424, 1e-6);
  shape.drops_out = false, shape.width = 128;  // twice the products, and all but exponentials
  EXPECT_NEAR(cycles_of(shape), 200 + 2 * (2048 + 1024 + 752), 1e-6);
  shape.width = 64, shape.mask_elements = 256 * 256;
  EXPECT_NEAR(cycles_of(shape), 130 + 2 * 2464, 1e-6);
  shape.keys = 255;
  EXPECT_NEAR(cycles_of(shape), 130 + 2 * 2524, 1e-6);
}

// Five products of 128 keys and 64 queries: 1280 cycles; 512 exponentials; 376. 256 keys are two
// blocks, each over 512 / 64 = 8 tiles.
TEST(Attention, GoesBackwardByBlocksOfKeys) {
  const AttentionShape shape{.heads = 66, .queries = 512, .keys = 256, .width = 64};
  EXPECT_NEAR(cycles_of(shape, true), 100 + 8 * (1280 + 512 + 376), 1e-6);
}

// 66 heads of 256 queries: blocks of the first 128 queries come first and see one tile, those of
// the last see two; one each an SM. 132 heads: an SM gets one of both. With one more round of each,
// the mean: 66 rounds of (1 + 2) / 2 tiles.
TEST(Attention, CausalBlocksSeeEarlierKeys) {
  AttentionShape shape{.heads = 66, .queries = 256, .keys = 256, .width = 64, .causal = true};
  EXPECT_NEAR(cycles_of(shape), 120 + 2 * 2424, 1e-6);
  shape.heads = 132;
  EXPECT_NEAR(cycles_of(shape), 2 * 120 + 3 * 2424, 1e-6);
  shape.heads = 33 * 132;
  EXPECT_NEAR(cycles_of(shape), 66 * 120 + 99 * 2424, 1e-6);
  // Backward the last keys are seen by the last queries alone: 4 and 2 tiles of 64.
  shape.heads = 132;
  EXPECT_NEAR(cycles_of(shape, true), 2 * 120 + 6 * 2168, 1e-6);
}

// 2 bytes x (2 x 256 queries + 2 x 256 keys) x 64 x 1320 heads in DRAM; a quarter is not hidden.
TEST(Attention, MemoryBoundsItOrShows) {
  const AttentionShape shape{.heads = 1320, .queries = 256, .keys = 256, .width = 64};
  AttentionPace pace = easy_pace(false);
  const double memory = 2.0 * 1024 * 64 * 1320 / dram_bytes_per_us();
  const double compute = 20 * (100 + 2 * 2424) / 1980.0;
  pace.exposed_share = 0.25;
  EXPECT_NEAR(attention_us(gpu(), pace, 1, shape), 1 + compute + 0.25 * memory, 1e-9);
  EXPECT_NEAR(attention_us(gpu(), pace, 0.01, shape), 1 + 100 * memory, 1e-9);
}

// The file's paces against single operators that they were fitted on (H200, captures of
// 2026-11-24).
TEST(Attention, MeetsMeasuredOperators) {
  const TimeConstants constants = TimeConstants::load(source_path("configs/kernels/time.json"));
  const AttentionShape vit{.heads = 768, .queries = 197, .keys = 197, .width = 64};
  EXPECT_NEAR(attention_us(gpu(), constants, vit, DataType::bf16, false), 44.2, 0.12 * 44.2);
  EXPECT_NEAR(attention_us(gpu(), constants, vit, DataType::fp16, true), 113.5, 0.12 * 113.5);
  AttentionShape gpt{.heads = 48, .queries = 1024, .keys = 1024, .width = 64, .causal = true};
  gpt.drops_out = true;
  EXPECT_NEAR(attention_us(gpu(), constants, gpt, DataType::fp16, false), 59.5, 0.12 * 59.5);
  const double fp32 = attention_us(gpu(), constants, vit, DataType::fp32, false);
  EXPECT_NEAR(fp32, 410.4, 0.12 * 410.4);  // ViT-B/16, TF32, batch 64
}

TEST(Attention, CountsItsBlocks) {
  const AttentionShape shape{.heads = 8, .queries = 100, .keys = 200, .width = 64};
  EXPECT_DOUBLE_EQ(attention_blocks(shape), 8);
  const AttentionGrowth growth{.floor_us = 0, .lone_waves = 1.5};
  EXPECT_DOUBLE_EQ(attention_waves(gpu(), growth, 133, true), 2);
  EXPECT_DOUBLE_EQ(attention_waves(gpu(), growth, 133, false), 1.5);
  EXPECT_DOUBLE_EQ(attention_waves(gpu(), growth, 264, false), 2);
}

// 64 channels of 32 x 28 x 28 = 25088 elements: forward 100 KB in FP32, backward 200 KB. A block
// that reads and writes 100 KB each at 100 GB/s takes 2 us, all bytes at half of the DRAM's peak 5.
TEST(ChannelNorm, ReadsTwiceWhatDoesNotFitOnChip) {
  const NormShape s = norm_shape(shape({32, 64, 28, 28}));
  EXPECT_EQ(s.per_channel, 25088);
  EXPECT_EQ(s.plane, 784);
  NormTimes times;
  times.floor_us = 3, times.keep_bytes = 131072;
  times.single_dram_share = 0.5, times.single_block_gbps = 100;
  times.generic_dram_share = 0.75, times.cached_ratio = 1;
  times.forward = times.backward = {1, 1};
  times.forward_half_ratio = times.backward_half_ratio = 1;
  EXPECT_NEAR(library_norm_us(gpu(), times, s, DataType::fp32, false),
              3 + 2 * s.elements() * 4 / (0.5 * dram_bytes_per_us()), 1e-9);
  // Backward in FP32 a block walks over its channel, one cycle an element.
  EXPECT_NEAR(library_norm_us(gpu(), times, s, DataType::fp32, true),
              3 + 25088 / double(gpu().boost_clock_mhz), 1e-9);
  EXPECT_EQ(norm_shape(shape({8})).channels, 0);
}

// Operands of a channel in one block: forward the input, backward the gradient as well. Of 25088
// elements these are 100352 and 200704 bytes in FP32, half of that in 16 bits.
TEST(ChannelNorm, ReadsOnceWhatABlockKeeps) {
  NormTimes times;
  times.keep_bytes = 100352;
  const NormShape s = norm_shape(shape({32, 64, 28, 28}));
  EXPECT_TRUE(reads_once(times, s, DataType::fp32, false));
  EXPECT_FALSE(reads_once(times, s, DataType::fp32, true));
  EXPECT_TRUE(reads_once(times, s, DataType::fp16, true));
  EXPECT_FALSE(reads_once(times, norm_shape(shape({33, 64, 28, 28})), DataType::fp32, false));
}

// A block at 100 GB/s moves 100 KB a us: 25088 elements in FP32 that it reads and writes take 2 us,
// in 16 bits half of that; backward it reads two and writes one. 8 channels at half of the DRAM's
// peak take 0.7 us, 64 take 5.4 us.
TEST(ChannelNorm, FewChannelsOnChipWaitForTheirBlocks) {
  NormTimes times;
  times.floor_us = 3, times.keep_bytes = 1e6;
  times.single_dram_share = 0.5, times.single_block_gbps = 100;
  const auto us = [&](std::int64_t channels, DataType type, bool backward) {
    return library_norm_us(gpu(), times, norm_shape(shape({32, channels, 28, 28})), type, backward);
  };
  EXPECT_NEAR(us(8, DataType::fp32, false), 3 + 2 * 25088 * 4 / 1e5, 1e-9);
  EXPECT_NEAR(us(1, DataType::fp32, false), 3 + 2 * 25088 * 4 / 1e5, 1e-9);
  EXPECT_NEAR(us(8, DataType::fp16, false), 3 + 2 * 25088 * 2 / 1e5, 1e-9);
  EXPECT_NEAR(us(8, DataType::fp32, true), 3 + 3 * 25088 * 4 / 1e5, 1e-9);
  EXPECT_NEAR(us(64, DataType::fp32, false), 3 + 2 * 64 * 25088 * 4 / (0.5 * dram_bytes_per_us()),
              1e-9);
}

/// Cycles of a block for an element of its channel, which is read twice, where all operands fill
/// `share` of L2: one channel, a cycle an element from DRAM and 0.6 from L2.
double cycles_read_twice(double share, DataType type, bool backward) {
  NormTimes times;
  times.floor_us = 3, times.generic_dram_share = 1;
  times.forward = times.backward = {1, 1};
  times.forward_half_ratio = times.backward_half_ratio = 2;
  times.cached_ratio = 0.6;
  const double operands = backward ? 3 : 2;  // what is read and what is written
  NormShape s{.channels = 1, .plane = 1};
  s.per_channel = share * double(gpu().l2_bytes) / (operands * element_bytes(type));
  const double us = library_norm_us(gpu(), times, s, type, backward) - 3;
  return us * gpu().boost_clock_mhz / s.per_channel;
}

// Of a quarter of L2 a quarter misses: 0.6 + 0.4 x 0.25 = 0.7; of half of it 0.6 + 0.4 x 0.5 = 0.8.
// In 16 bits a cycle is two.
TEST(ChannelNorm, ReadsChannelsAgainFromL2) {
  for (const bool backward : {false, true}) {
    EXPECT_NEAR(cycles_read_twice(1e-6, DataType::fp32, backward), 0.6, 1e-6);
    EXPECT_NEAR(cycles_read_twice(0.25, DataType::fp32, backward), 0.7, 1e-9);
    EXPECT_NEAR(cycles_read_twice(0.5, DataType::fp32, backward), 0.8, 1e-9);
    EXPECT_NEAR(cycles_read_twice(1, DataType::fp32, backward), 1, 1e-9);
    EXPECT_NEAR(cycles_read_twice(3, DataType::fp32, backward), 1, 1e-9);
    EXPECT_NEAR(cycles_read_twice(0.25, DataType::fp16, backward), 2 * 0.7, 1e-9);
  }
}

TEST(NormLaw, SmallPlanesAtInferenceWaitForBlocksInAnyType) {
  NormTimes times;
  times.native_plane_sm_cycles = 165, times.inference_sm_cycles = 0.6;
  times.inference_dram_share = 0.5;
  const double all_sms = gpu().sm_count * double(gpu().boost_clock_mhz);
  // 49 elements a plane are 29 cycles, less than the 165 in which a block starts.
  const NormShape small = norm_shape(shape({32, 1536, 7, 7}));
  const double blocks_us = 165 * 32 * 1536 / all_sms;
  EXPECT_NEAR(inference_norm_us(gpu(), times, small, DataType::fp32), blocks_us, 1e-9);
  EXPECT_NEAR(inference_norm_us(gpu(), times, small, DataType::fp16), blocks_us, 1e-9);
  // 784 elements a plane: 470 cycles in 16 bits; in FP32 twice the bytes take longer.
  const NormShape large = norm_shape(shape({32, 512, 28, 28}));
  EXPECT_NEAR(inference_norm_us(gpu(), times, large, DataType::fp16),
              0.6 * large.elements() / all_sms, 1e-9);
  EXPECT_NEAR(inference_norm_us(gpu(), times, large, DataType::fp32),
              8 * large.elements() / (0.5 * dram_bytes_per_us()), 1e-9);
}

// A third of shared memory for a channel, and in 16 bits registers beside it.
TEST(ChannelNorm, GrowsByWholeChannelsOnAnSm) {
  NormGrowth growth;
  growth.shared_share = 1.0 / 3;
  growth.block_us = 1, growth.block_gbps = 1, growth.chip_share = 1;
  growth.forward_ns = 2, growth.dram = 1;
  CachedMemory memory;
  memory.lone_dram = 1;
  const NormShape small{.channels = 133, .per_channel = 1000, .plane = 1};
  const NormShape large{.channels = 133, .per_channel = 1e6, .plane = 1};
  EXPECT_TRUE(stays_on_chip(gpu(), growth, small, DataType::fp32, false));
  EXPECT_FALSE(stays_on_chip(gpu(), growth, large, DataType::fp16, false));
  // 133 channels are two on one SM: 2 x 1 us, and 2 passes over 4 KB at 1 GB/s.
  EXPECT_NEAR(norm_growth_us(gpu(), growth, memory, small, DataType::fp32, true, false), 2 + 8,
              1e-9);
  // Read again: 2 x 1e6 elements of 2 ns.
  EXPECT_NEAR(norm_growth_us(gpu(), growth, memory, large, DataType::fp32, false, false), 4000,
              1e-9);
}

const TypeRatios& ratios() {
  static const TypeRatios instance = [] {
    TypeRatios r;
    r.convolution = 0.5, r.misaligned_convolution = 0.9, r.depthwise = 0.6;
    r.exponential_lane_cycles = 2, r.error_lane_cycles = 7, r.error_gradient_lane_cycles = 9;
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
  const TensorShape odd = shape({8, 64, 14, 14}), even = shape({8, 64, 28, 28});
  const TensorShape product = shape({64, 64, 1, 1}), window = shape({64, 64, 3, 3});
  EXPECT_EQ(ratio(odd, product, fp32, fp16), 0.9);
  EXPECT_EQ(ratio(even, product, fp32, fp16), 0.5);
  EXPECT_EQ(ratio(odd, window, fp32, fp16), 0.5);
  EXPECT_EQ(ratio(odd, shape({64, 1, 3, 3}), fp32, fp16), 0.6);
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
  // Mixed operands cost time per byte, and give it back when they vanish.
  EXPECT_EQ(ratio({OpKind::pointwise, "aten::add", false, false, true, 12, 6}), 1);
  EXPECT_EQ(ratio({OpKind::pointwise, "aten::add", false, true, false, 6, 12}), 1);
}

// A cycle of every element is a tenth of the time before: the error function takes 0.7 of it, its
// gradient 0.9, a sigmoid 0.2, less than half the bytes. In 32 bits bytes that took half of the
// time take all of it.
TEST(TypeRatios, ArithmeticPassesBesideTheBytes) {
  const auto ratio = [](std::string_view op, double before, double after, double moving) {
    return memory_ratio(ratios(),
                        {OpKind::pointwise, op, false, false, false, before, after, moving, 0.1});
  };
  EXPECT_DOUBLE_EQ(ratio("aten::gelu", 8, 4, 0.8), 0.7);
  EXPECT_DOUBLE_EQ(ratio("aten::gelu_backward", 8, 4, 0.8), 0.9);
  EXPECT_DOUBLE_EQ(ratio("aten::silu", 8, 4, 0.8), 0.5);
  EXPECT_DOUBLE_EQ(ratio("aten::gelu", 4, 8, 0.4), 1);
  EXPECT_DOUBLE_EQ(ratio("aten::gelu", 4, 8, 0.9), 2);  // no more than all of it
}

Product product(double n, double depth) {
  Product p;
  p.m = 1024, p.n = n, p.k = depth;
  return p;
}

// 1024 x 16 is 16 tiles of 64 x 64, in 4 parts 64 blocks. 1024 x 128 is 128 blocks, still one for
// each of the 132 SMs; 1024 x 256 is 256 blocks, two rounds; twice the k is twice the time.
TEST(ProductGrowth, AKernelWithAnSmPerBlockGrowsByWholeRounds) {
  KernelTraits kernel;
  kernel.tile_m = kernel.tile_n = 64;
  LaunchGeometry geometry;
  geometry.grid = {8, 2, 4};
  const auto growth = [&](const Product& next) {
    return kept_kernel_growth(gpu(), kernel, geometry, product(16, 4096), next);
  };
  EXPECT_EQ(growth(product(128, 4096)), 1);
  EXPECT_EQ(growth(product(256, 4096)), 2);
  EXPECT_EQ(growth(product(128, 8192)), 2);
  geometry.grid = {16, 2, 8};  // a crowded kernel says nothing about its blocks
  EXPECT_TRUE(std::isinf(growth(product(128, 4096))));
  geometry.grid = {8, 2, 4};
  kernel.tile_m = 0;  // nor does one without tiles
  EXPECT_TRUE(std::isinf(growth(product(128, 4096))));
}

// Fewer columns than an instruction of a tensor core has are a matrix times vectors: 10 us of DRAM
// traffic at half the peak.
TEST(ProductGrowth, NarrowProductsAreBoundByMemory) {
  const ProductGrowth growth;
  Product p = product(7, 4096);
  p.bytes = 5 * dram_bytes_per_us();
  EXPECT_NEAR(best_tile_time(gpu(), growth, 0.5, {}, p).us, 10, 1e-9);
}

TensorShape strided(TensorShape t, std::initializer_list<std::int64_t> strides) {
  std::copy(strides.begin(), strides.end(), t.strides.begin());
  return t;
}

// x[64][100] w[200][100] of a layer: 64 x 100 times 100 x 200, and w is contiguous along k.
// One wave of 128 x 128 tiles on 132 SMs: 128 x 128 x (256 + 100) / 2048 cycles; bytes at half of
// the DRAM's peak; a floor of 2 us. Rows of 2 bytes more take tiles that are three times slower.
TEST(LibraryProducts, HalvesAreTilesAndBytesAndAFloor) {
  LibraryProducts products;
  products.half = {.floor_us = 2, .start_k = 100, .dram_share = 0.5, .split_us = 50};
  products.half.even_ratio = 3, products.half.odd_ratio = 5;
  GemmShape shape{.m = 128, .n = 128, .k = 256, .batch = 132, .type = DataType::fp16};
  const TimeConstants constants = TimeConstants::load(source_path("configs/kernels/time.json"));
  const auto us = [&] {
    return library_product_time(gpu(), products, shape, constants, 0).time_us;
  };
  const double tiles = 128 * 128 * 356 / 2048.0 / 1980;
  const double bytes = 2.0 * 132 * (2 * 128 * 256 + 128 * 128) / (0.5 * dram_bytes_per_us());
  EXPECT_NEAR(us(), 2 + tiles + bytes, 1e-9);
  shape.batch = 1, shape.n = 128 * 132;
  const double aligned = us();
  shape.n = 128 * 132 - 2;  // as many tiles; 4 bytes
  EXPECT_NEAR(us() - aligned, 2 * tiles, 0.02);
  shape.n = 128 * 132 - 1;
  EXPECT_NEAR(us() - aligned, 4 * tiles, 0.02);
}

// A tile of 64 x 64 whose addends, 128 times 4096 of them, are added in as many parts: 4196 steps
// in place of 524288; operands, and a part more than there are of the result in FP32.
TEST(LibraryProducts, VeryManyAddendsAreSplitIntoManyParts) {
  LibraryProducts products;
  products.half = {.floor_us = 2, .start_k = 100, .dram_share = 0.5, .split_us = 50};
  const std::int64_t k = 128 * 4096;
  const GemmShape shape{.m = 64, .n = 64, .k = k, .batch = 1, .type = DataType::fp16};
  const TimeConstants constants = TimeConstants::load(source_path("configs/kernels/time.json"));
  const double tile = 64 * 64 * (4096 + 100) / 2048.0 / 1980;
  const double bytes = 2.0 * (2 * 64.0 * double(k) + 64 * 64) + 4.0 * 64 * 64 * 129;
  EXPECT_NEAR(library_product_time(gpu(), products, shape, constants, 0).time_us,
              2 + 50 + tile + bytes / (0.5 * dram_bytes_per_us()), 1e-6);
}

TEST(LibraryProducts, ReadTheFactorsOfAnOperation) {
  static const LaunchGeometry none;
  OpTensors operands;
  operands.add(0, shape({200}));
  operands.add(1, strided(shape({64, 100}), {100, 1}));
  operands.add(2, strided(shape({100, 200}), {1, 100}));
  const auto found = product_operands(OpContext{"aten::addmm", operands, {}, none});
  ASSERT_TRUE(found);
  const GemmShape gemm = gemm_shape(*found, DataType::tf32);
  EXPECT_EQ(gemm.m, 64);
  EXPECT_EQ(gemm.k, 100);
  EXPECT_EQ(gemm.n, 200);
  EXPECT_TRUE(gemm.a_k_major);
  EXPECT_TRUE(gemm.b_k_major);
  OpTensors vectors;
  vectors.add(0, shape({4}));
  EXPECT_FALSE(product_operands(OpContext{"aten::mm", vectors, {}, none}));
}

}  // namespace
}  // namespace tandem

// The law of fused attention, with constants for which the sums are easy, and measured operators.
#include <gtest/gtest.h>

#include "models/kernel/time/attention.h"
#include "models/kernel/time/laws/attention.h"
#include "models/kernel/time/laws/masked_attention.h"
#include "models/kernel/time/time_constants.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/models/kernel/time_laws_for_tests.h"

namespace tandem {
namespace {

using test::dram_bytes_per_us;
using test::gpu;

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

// 66 heads of 256 queries: a block of the first 128 queries of each head, which sees one tile, then
// one of the last, which sees two; one each an SM. 132 heads: the 66 SMs that had one tile take the
// next 66 blocks, half of which have two, and those that had two the last 66: half of these have
// two once more. 66 rounds: the mean of (1 + 2) / 2 tiles.
TEST(Attention, CausalBlocksSeeEarlierKeys) {
  AttentionShape shape{.heads = 66, .queries = 256, .keys = 256, .width = 64, .causal = true};
  EXPECT_NEAR(cycles_of(shape), 120 + 2 * 2424, 1e-6);
  shape.heads = 132;
  EXPECT_NEAR(cycles_of(shape), 2 * 120 + 4 * 2424, 1e-6);
  shape.heads = 33 * 132;
  EXPECT_NEAR(cycles_of(shape), 66 * 120 + 99 * 2424, 1e-6);
  // Backward the last keys are seen by the last queries alone: 4 and 2 tiles of 64.
  shape.heads = 132;
  EXPECT_NEAR(cycles_of(shape, true), 2 * 120 + 8 * 2168, 1e-6);
}

// Measured alone (masked_fused.csv): what causal order saves of 16 bits, heads of 64.
TEST(Attention, CausalOrderSavesWhatItsLastBlocksLeave) {
  const TimeConstants constants = TimeConstants::load(source_path("configs/kernels/time.json"));
  const auto saved = [&](std::int64_t heads, std::int64_t places, bool backward) {
    AttentionShape shape{.heads = heads, .queries = places, .keys = places, .width = 64};
    const double whole = attention_us(gpu(), constants, shape, DataType::fp16, backward);
    shape.causal = true;
    return whole / attention_us(gpu(), constants, shape, DataType::fp16, backward);
  };
  EXPECT_NEAR(saved(128, 512, false), 1.14, 0.06);
  EXPECT_NEAR(saved(32, 1024, true), 1.05, 0.06);
  EXPECT_NEAR(saved(128, 1024, false), 1.45, 0.06);
  EXPECT_NEAR(saved(64, 2048, true), 1.52, 0.06);
}

TEST(MaskedAttention, RatiosGoByWidthAndDropout) {
  MaskedAttention law;
  law.forward = {1.7, 1.4, 1.8, 1.6};
  law.backward = {1.5, 1.45, 1.85, 2.05};
  law.fp32_forward = 1.1, law.fp32_backward = 1.05;
  AttentionShape shape{.heads = 1, .queries = 128, .keys = 128, .width = 64};
  EXPECT_EQ(law.ratio(shape, DataType::bf16, false), 1.7);
  EXPECT_EQ(law.ratio(shape, DataType::fp32, true), 1.05);
  shape.drops_out = true;
  EXPECT_EQ(law.ratio(shape, DataType::fp16, true), 1.45);
  shape.width = 96;
  EXPECT_EQ(law.ratio(shape, DataType::fp16, true), 2.05);
  EXPECT_EQ(law.ratio(shape, DataType::fp32, false), 1.1);
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

}  // namespace
}  // namespace tandem

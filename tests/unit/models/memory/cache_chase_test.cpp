#include "models/memory/cache_chase.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

constexpr std::uint64_t key(std::uint64_t place) { return place << 8; }

TEST(LineCache, HoldsAsManyLinesAsItHas) {
  LineCache cache({128.0 * 4 * 16, 128, 16});  // 4 sets of 16
  for (std::uint64_t i = 0; i < 64; ++i) cache.insert(key(i));
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_TRUE(cache.contains(key(i))) << i;
  EXPECT_FALSE(cache.contains(key(64)));
  cache.insert(key(64));
  int held = 0;
  for (std::uint64_t i = 0; i < 65; ++i) held += cache.contains(key(i));
  EXPECT_EQ(held, 64);
}

// One set of four: after 0 1 2 3 all but the last count as unused, then 0 is used again: the
// victims are 1 and 2.
TEST(LineCache, VictimsWereNotUsedSince) {
  LineCache cache({128.0 * 4, 128, 4});
  for (std::uint64_t i = 0; i < 4; ++i) cache.insert(key(i));
  EXPECT_TRUE(cache.contains(key(0)));
  cache.insert(key(4));
  cache.insert(key(5));
  EXPECT_TRUE(cache.contains(key(0)));
  EXPECT_FALSE(cache.contains(key(1)));
  EXPECT_FALSE(cache.contains(key(2)));
}

TEST(LineCache, KeysOfOnePlaceShareASet) {
  LineCache cache({128.0 * 2 * 2, 128, 2});  // 2 sets of 2
  for (std::uint64_t tag = 0; tag < 3; ++tag) cache.insert(key(0) | tag);
  cache.insert(key(1));
  EXPECT_FALSE(cache.contains(key(0)));
  EXPECT_TRUE(cache.contains(key(1)));
}

/// 1 MiB of L2 in two partitions, 4 SMs.
GpuArch divided() {
  GpuArch gpu;
  gpu.l2_bytes = 1 << 20;
  gpu.l2_partitions = 2;
  gpu.unified_l1_bytes = 64 << 10;
  return gpu;
}
constexpr ChaseCycles cycles{10, 100, 200, 400};
constexpr double kib = 1024;

ChaseResult chase(const GpuArch& gpu, int sms, double bytes, bool written = true) {
  Chase c;
  c.sms = sms;
  c.warps = 4;
  c.written = written;
  c.sample = 1;
  const ChaseResult r = simulate_chase(gpu, c, cycles, bytes);
  EXPECT_NEAR(r.l1_share + r.near_share + r.far_share + r.dram_share, 1, 1e-12);
  return r;
}

TEST(Chase, OneSmFirstFillsItsOwnPartitionThenBoth) {
  const ChaseResult fits = chase(divided(), 1, 448 * kib);
  EXPECT_EQ(fits.near_share, 1);
  EXPECT_NEAR(fits.cycles, 100, 1e-9);
  // Beyond 512 KiB nothing stays near; half of the lines are at home in the other partition, which
  // holds them. An access of two lines, both of one home: (200 + 400) / 2.
  const ChaseResult far = chase(divided(), 1, 896 * kib);
  EXPECT_LT(far.near_share, 0.02);
  EXPECT_NEAR(far.far_share, 0.5, 0.02);
  EXPECT_NEAR(far.cycles, 300, 10);
  EXPECT_GT(chase(divided(), 1, 1280 * kib).dram_share, 0.95);
}

// Each line read by one SM: half of them are held twice, at home and near their reader, so 2/3 of
// L2 can be read from cold without a loss. What was written before needs no DRAM to come home.
TEST(Chase, AllSmsHoldLinesTwice) {
  EXPECT_GT(chase(divided(), 4, 576 * kib, false).near_share, 0.95);
  const double cold = chase(divided(), 4, 832 * kib, false).dram_share;
  const double written = chase(divided(), 4, 832 * kib).dram_share;
  EXPECT_GT(cold, 0.3);
  EXPECT_LT(written, cold);
  GpuArch undivided = divided();
  undivided.l2_partitions = 1;
  EXPECT_EQ(chase(undivided, 4, 1000 * kib, false).near_share, 1);
}

TEST(Chase, ThroughL1) {
  Chase c;
  c.through_l1 = true;
  c.warps = 4;
  EXPECT_EQ(simulate_chase(divided(), c, cycles, 60 * kib).l1_share, 1);
  const ChaseResult beyond = simulate_chase(divided(), c, cycles, 96 * kib);
  EXPECT_LT(beyond.l1_share, 0.02);
  EXPECT_GT(beyond.near_share, 0.98);
}

TEST(Chase, AnArrayTooSmallForItsWarps) {
  const ChaseResult r = simulate_chase(divided(), Chase(), cycles, 100);
  EXPECT_EQ(r.cycles, 0);
  EXPECT_EQ(r.near_share + r.dram_share, 0);
}

TEST(Chase, AnArrayOfAnySize) { EXPECT_GT(chase(divided(), 1, 1e300).dram_share, 0.99); }

TEST(Chase, CyclesOfRecordedSteps) {
  GpuArch gpu = divided();
  gpu.l1_latency_cycles = 30;
  gpu.l2_latency_cycles = 280;
  gpu.l2_far_latency_cycles = 480;
  gpu.dram_latency_cycles = 560;
  const ChaseCycles config = chase_cycles(gpu, {}, {});
  EXPECT_EQ(config.l1, 30);
  EXPECT_EQ(config.dram, 560);
  const std::vector<CurveStep> l1{{1, 2, 46, 290}}, l2{{3, 4, 288, 600}, {5, 6, 600, 730}};
  const ChaseCycles recorded = chase_cycles(gpu, l1, l2);
  EXPECT_EQ(recorded.l1, 46);
  EXPECT_EQ(recorded.l2_near, 288);
  EXPECT_EQ(recorded.l2_far, 480);
  EXPECT_EQ(recorded.dram, 730);
}

}  // namespace
}  // namespace tandem

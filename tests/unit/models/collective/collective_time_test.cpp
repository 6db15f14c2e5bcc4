// How long collectives move data, worked out by hand. Times in microseconds.
#include "models/collective/collective_time.h"

#include <gtest/gtest.h>

#include "models/arch/gpu_config.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

/// A link of 100 GB/s each way, of which rings reach half: 50 bytes a nanosecond.
GpuArch linked_gpu() {
  GpuArch g;
  g.nvlink_gbps = 200;
  g.nvlink_gpus = 8;
  return g;
}

CollectiveLaw law() {
  CollectiveLaw l;
  l.low_latency = {.base_us = 4, .hop_us = 1, .link_share = 0.5, .most_gbps = 10};
  l.simple = {.base_us = 20, .hop_us = 3, .link_share = 0.5, .most_gbps = 0};
  l.gather_factor = 0.5;
  l.broadcast_factor = 2;
  l.direct_base_us = 10;
  l.direct_link_share = 0.8;
  l.pcie_share = 0.5;
  l.host_gpus = 8;
  return l;
}

Collective message(CollectiveKind kind, std::int64_t bytes, int ranks = 2) {
  Collective c;
  c.kind = kind;
  c.in_bytes = c.out_bytes = bytes;
  c.ranks = ranks;
  return c;
}

double us(CollectiveKind kind, std::int64_t bytes, int ranks) {
  return collective_time(linked_gpu(), law(), message(kind, bytes), ranks).us;
}

constexpr std::int64_t mb = 1'000'000;

// More than two ranks use more of their links: as above, at 1.25, 1.5 and 1.1 of the rates.
TEST(CollectiveTime, MoreThanTwoRanksUseMoreOfTheirLinks) {
  using enum CollectiveKind;
  CollectiveLaw l = law();
  l.more_reduce_factor = 1.25, l.more_gather_factor = 1.5, l.more_direct_factor = 1.1;
  const auto timed = [&](CollectiveKind kind, int ranks) {
    return collective_time(linked_gpu(), l, message(kind, 10 * mb), ranks).us;
  };
  EXPECT_NEAR(timed(all_reduce, 2), 223, 1e-9);
  EXPECT_NEAR(timed(all_reduce, 8), 20 + 13 * 3 + 17.5e6 / 62.5e3, 1e-9);
  EXPECT_NEAR(timed(all_gather, 8), 20 + 18 + 8.75e6 / 37.5e3, 1e-9);
  EXPECT_NEAR(timed(all_to_all, 4), 10 + 7.5e6 / 88e3, 1e-9);
}

TEST(CollectiveTime, RingsMoveTheirShareOfTheMessage) {
  using enum CollectiveKind;
  // Two ranks send the whole message once in two steps: 20 + 3 + 10e6 / 50e3.
  EXPECT_NEAR(us(all_reduce, 10 * mb, 2), 223, 1e-9);
  // Eight send 2 x 7/8 of it in 14 steps: 20 + 13 x 3 + 17.5e6 / 50e3.
  EXPECT_NEAR(us(all_reduce, 10 * mb, 8), 409, 1e-9);
  // Gathering sends 7/8 in 7 steps at half the rate: 20 + 18 + 8.75e6 / 25e3.
  EXPECT_NEAR(us(all_gather, 10 * mb, 8), 388, 1e-9);
  EXPECT_EQ(us(reduce_scatter, 10 * mb, 8), us(all_gather, 10 * mb, 8));
  // A broadcast passes all of it on, at twice the rate: 20 + 10e6 / 100e3.
  EXPECT_NEAR(us(broadcast, 10 * mb, 2), 120, 1e-9);
  // Directly to the others: 10 + 5e6 / 80e3.
  EXPECT_NEAR(us(all_to_all, 10 * mb, 2), 72.5, 1e-9);
}

TEST(CollectiveTime, SmallMessagesTravelWithTheirFlags) {
  // 4 + 1 + 1000 / 10e3 against 20 + 3 + 1000 / 50e3.
  const auto small =
      collective_time(linked_gpu(), law(), message(CollectiveKind::all_reduce, 1000), 2);
  EXPECT_NEAR(small.us, 5.1, 1e-9);
  EXPECT_EQ(small.protocol, "LL");
  EXPECT_EQ(small.algorithm, "ring");
  const auto large =
      collective_time(linked_gpu(), law(), message(CollectiveKind::all_reduce, 10 * mb), 2);
  EXPECT_EQ(large.protocol, "Simple");
}

TEST(CollectiveTime, KnowsNothingOfNothing) {
  using enum CollectiveKind;
  EXPECT_FALSE(collective_time(linked_gpu(), law(), message(unknown, mb), 2).known);
  EXPECT_FALSE(collective_time(linked_gpu(), law(), message(all_reduce, 0), 2).known);
  EXPECT_FALSE(collective_time(linked_gpu(), law(), message(all_reduce, mb), 1).known);
  EXPECT_FALSE(collective_time(GpuArch{}, law(), message(all_reduce, mb), 2).known);
  EXPECT_TRUE(collective_time(linked_gpu(), law(), message(barrier, 0), 2).known);
}

TEST(CollectiveTime, GpusWithoutLinksUseThatOfTheHost) {
  GpuArch g;
  g.pcie_copy_gbps = 50;
  EXPECT_EQ(link_gbps(g, law(), 2), 25);
  EXPECT_EQ(link_gbps(linked_gpu(), law(), 2), 100);
  EXPECT_EQ(link_gbps(linked_gpu(), law(), 8), 100);
}

// A bridge joins two GPUs: a ring of more passes over the host link from pair to pair.
TEST(CollectiveTime, BridgesJoinTwo) {
  GpuArch bridged = linked_gpu();
  bridged.nvlink_gpus = 2;
  bridged.pcie_copy_gbps = 50;
  GpuArch without = bridged;
  without.nvlink_gbps = 0;
  const auto us_on = [](const GpuArch& gpu, int ranks) {
    return collective_time(gpu, law(), message(CollectiveKind::all_reduce, 10 * mb), ranks).us;
  };
  EXPECT_EQ(us_on(bridged, 2), us_on(linked_gpu(), 2));
  EXPECT_EQ(us_on(bridged, 3), us_on(without, 3));
  EXPECT_EQ(us_on(bridged, 8), us_on(without, 8));
  EXPECT_GT(us_on(bridged, 3), 2 * us_on(linked_gpu(), 3));
}

TEST(CollectiveTime, ShardsFollowTheNumberOfRanks) {
  Collective gather = message(CollectiveKind::all_gather, 0);
  gather.in_bytes = 50;
  gather.out_bytes = 100;
  const Collective wide = among(gather, 4);
  EXPECT_EQ(wide.in_bytes, 25);
  EXPECT_EQ(wide.out_bytes, 100);
  EXPECT_EQ(wide.ranks, 4);
  EXPECT_EQ(among(message(CollectiveKind::all_reduce, 100), 8).in_bytes, 100);
}

TEST(CollectiveTime, FasterLinksAndFewerBytesAreNeverSlower) {
  const CollectiveLaw shipped =
      load_collective_law(source_path("configs/kernels/collectives.json"));
  int tried = 0;
  for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                          CollectiveKind::broadcast, CollectiveKind::all_to_all}) {
    for (int ranks = 2; ranks <= 8; ++ranks) {
      double before = 0;
      for (std::int64_t bytes = 1024; bytes <= std::int64_t{1} << 30; bytes *= 4) {
        const Collective c = message(kind, bytes, ranks);
        GpuArch fast = linked_gpu();
        fast.nvlink_gbps *= 2;
        const double now = collective_time(linked_gpu(), shipped, c, ranks).us;
        EXPECT_GE(now, before);
        EXPECT_LE(collective_time(fast, shipped, c, ranks).us, now);
        before = now;
        ++tried;
      }
    }
  }
  EXPECT_EQ(tried, 4 * 7 * 11);
}

}  // namespace
}  // namespace tandem

// Laws of norms over channels, with constants for which the sums are easy.
#include "models/kernel/time/laws/channel_norm.h"

#include <gtest/gtest.h>

#include "tests/unit/models/kernel/time_laws_for_tests.h"

namespace tandem {
namespace {

using test::dram_bytes_per_us;
using test::fp32_shape;
using test::gpu;

// 64 channels of 32 x 28 x 28 = 25088 elements: forward 100 KB in FP32, backward 200 KB. A block
// that reads and writes 100 KB each at 100 GB/s takes 2 us, all bytes at half of the DRAM's peak 5.
TEST(ChannelNorm, ReadsTwiceWhatDoesNotFitOnChip) {
  const NormShape s = norm_shape(fp32_shape({32, 64, 28, 28}));
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
  EXPECT_EQ(norm_shape(fp32_shape({8})).channels, 0);
}

// Operands of a channel in one block: forward the input, backward the gradient as well. Of 25088
// elements these are 100352 and 200704 bytes in FP32, half of that in 16 bits.
TEST(ChannelNorm, ReadsOnceWhatABlockKeeps) {
  NormTimes times;
  times.keep_bytes = 100352;
  const NormShape s = norm_shape(fp32_shape({32, 64, 28, 28}));
  EXPECT_TRUE(reads_once(times, s, DataType::fp32, false));
  EXPECT_FALSE(reads_once(times, s, DataType::fp32, true));
  EXPECT_TRUE(reads_once(times, s, DataType::fp16, true));
  EXPECT_FALSE(reads_once(times, norm_shape(fp32_shape({33, 64, 28, 28})), DataType::fp32, false));
}

// A block at 100 GB/s moves 100 KB a us: 25088 elements in FP32 that it reads and writes take 2 us,
// in 16 bits half of that; backward it reads two and writes one. 8 channels at half of the DRAM's
// peak take 0.7 us, 64 take 5.4 us.
TEST(ChannelNorm, FewChannelsOnChipWaitForTheirBlocks) {
  NormTimes times;
  times.floor_us = 3, times.keep_bytes = 1e6;
  times.single_dram_share = 0.5, times.single_block_gbps = 100;
  const auto us = [&](std::int64_t channels, DataType type, bool backward) {
    return library_norm_us(gpu(), times, norm_shape(fp32_shape({32, channels, 28, 28})), type,
                           backward);
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
  const NormShape small = norm_shape(fp32_shape({32, 1536, 7, 7}));
  const double blocks_us = 165 * 32 * 1536 / all_sms;
  EXPECT_NEAR(inference_norm_us(gpu(), times, small, DataType::fp32), blocks_us, 1e-9);
  EXPECT_NEAR(inference_norm_us(gpu(), times, small, DataType::fp16), blocks_us, 1e-9);
  // 784 elements a plane: 470 cycles in 16 bits; in FP32 twice the bytes take longer.
  const NormShape large = norm_shape(fp32_shape({32, 512, 28, 28}));
  EXPECT_NEAR(inference_norm_us(gpu(), times, large, DataType::fp16),
              0.6 * large.elements() / all_sms, 1e-9);
  EXPECT_NEAR(inference_norm_us(gpu(), times, large, DataType::fp32),
              8 * large.elements() / (0.5 * dram_bytes_per_us()), 1e-9);
}

// 2 us and half a cycle of one of 132 SMs for each of 264000 elements, whatever their type; 8 bytes
// of an element take longer where the memory copies less than 8 bytes a half cycle of an SM.
TEST(NormLaw, InChannelsLastOrderArithmeticOrMemoryDecidesInference) {
  NormTimes times;
  times.floor_us = 2;
  times.inference_last_sm_cycles = 0.5;
  const NormShape shape{.channels = 264, .per_channel = 1000, .plane = 100};
  GpuArch slow = gpu();
  slow.dram_copy_gbps = 1000;
  for (const DataType type : {DataType::fp32, DataType::fp16}) {
    EXPECT_NEAR(inference_last_norm_us(gpu(), times, shape, type), 2 + 1000 / gpu().boost_clock_mhz,
                1e-9);
  }
  EXPECT_NEAR(inference_last_norm_us(slow, times, shape, DataType::fp32), 2 + 264000 * 8 / 1e6,
              1e-9);
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

}  // namespace
}  // namespace tandem

// Which buffers of a compiled graph wait for a later one of their size.
#include "models/memory/buffer_reuse.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace {

constexpr DataType half = DataType::fp16;

GraphBuffer buffer(std::uint32_t made, std::uint32_t freed, std::int64_t bytes) {
  GraphBuffer b;
  b.made = made, b.freed = freed, b.bytes = bytes, b.type = half;
  return b;
}

// Kernel 0 makes 100, 1 reads it and makes 60, 2 reads that and makes 30, 3 reads that and makes
// 100 again. Without reuse the graph holds at most 100 + 60 at kernel 1. If the first 100 waits for
// kernel 3, kernel 2 holds 60 + 30 + 100 = 190: it does not.
TEST(BufferReuse, NothingWaitsThatWouldRaiseTheExpectedPeak) {
  const std::vector<GraphBuffer> buffers{buffer(0, 1, 100), buffer(1, 2, 60), buffer(2, 3, 30),
                                         buffer(3, 4, 100)};
  EXPECT_EQ(takers_over(buffers), std::vector<std::uint32_t>(4, no_buffer));
}

// The same with 20 and 30 between them: 100 + 50 = 150 at kernel 2, and 160 are expected at kernel
// 4, where 60 more are made. So it waits.
TEST(BufferReuse, WaitsBelowTheExpectedPeak) {
  const std::vector<GraphBuffer> buffers{buffer(0, 1, 100), buffer(1, 2, 20), buffer(2, 3, 30),
                                         buffer(3, 4, 100), buffer(4, 5, 60)};
  EXPECT_EQ(takers_over(buffers),
            (std::vector<std::uint32_t>{3, no_buffer, no_buffer, no_buffer, no_buffer}));
}

// The next kernel takes it whatever the peak: at no moment is more there.
TEST(BufferReuse, TheNextKernelAlwaysTakes) {
  const std::vector<GraphBuffer> buffers{buffer(0, 1, 100), buffer(1, 3, 10), buffer(2, 3, 100)};
  EXPECT_EQ(takers_over(buffers)[0], 2U);
}

// What is of another type or padded, given, a result, written over or allocated by a library's
// call.
TEST(BufferReuse, TakesNoOtherMemory) {
  const auto taker = [](auto change) {
    std::vector<GraphBuffer> buffers{buffer(0, 1, 100), buffer(1, 3, 10), buffer(2, 3, 100)};
    change(buffers);
    return takers_over(buffers)[0];
  };
  EXPECT_EQ(taker([](auto& b) { b[0].type = DataType::fp32; }), no_buffer);
  EXPECT_EQ(taker([](auto& b) { b[0].padded = true; }), no_buffer);
  EXPECT_EQ(taker([](auto& b) { b[0].given = true; }), no_buffer);
  EXPECT_EQ(taker([](auto& b) { b[0].stays = true; }), no_buffer);
  EXPECT_EQ(taker([](auto& b) { b[1].over = 0; }), no_buffer);
  EXPECT_EQ(taker([](auto& b) { b[2].by_library = true; }), no_buffer);
  EXPECT_EQ(taker([](auto&) {}), 2U);
}

// Of two that wait, the one freed last goes first.
TEST(BufferReuse, TheLastOneFreedGoesFirst) {
  const std::vector<GraphBuffer> buffers{buffer(0, 1, 50), buffer(0, 2, 50), buffer(3, 4, 50),
                                         buffer(3, 4, 50)};
  EXPECT_EQ(takers_over(buffers)[1], 2U);
  EXPECT_EQ(takers_over(buffers)[0], 3U);  // 100 are expected at kernel 0, 50 + 50 at kernel 2
}

}  // namespace
}  // namespace tandem

// What must hold for every batch.
#include <gtest/gtest.h>

#include "tests/unit/models/whatif/whatif_batch_for_tests.h"

namespace tandem {
namespace {

using test::BatchTraceMaker;
using test::options_for;

double total_us(const Trace& trace) {
  double us = 0;
  for (const Duration d : trace.activities.duration) us += to_us(d);
  return us;
}

Trace at(const BatchTraceMaker& base, std::int64_t from, std::int64_t to) {
  LossList losses;
  return with_batch(base.run(from), options_for(to), losses);
}

TEST(WhatifBatchProperty, TheSameBatchChangesNothing) {
  for (const std::int64_t batch : {2, 3, 7, 64, 1000}) {
    const BatchTraceMaker base(batch);
    const Trace out = at(base, batch, batch);
    ASSERT_GT(out.activities.size(), 0U);
    for (std::uint32_t a = 0; a < out.activities.size(); ++a) {
      EXPECT_NEAR(to_us(out.activities.duration[a]), to_us(base.trace.activities.duration[a]),
                  2e-6);
      EXPECT_EQ(out.geometries[out.activities.geometry[a].index()],
                base.trace.geometries[base.trace.activities.geometry[a].index()]);
    }
  }
}

TEST(WhatifBatchProperty, MoreItemsTakeLonger) {
  const BatchTraceMaker base(64);
  double before = 0;
  for (std::int64_t batch = 1; batch < 100000; batch *= 3) {
    const double now = total_us(at(base, 64, batch));
    EXPECT_GE(now, before * 0.999) << batch;
    before = now;
  }
}

TEST(WhatifBatchProperty, EveryActivityKeepsAPositiveDurationAndALegalGrid) {
  const BatchTraceMaker base(64);
  for (const std::int64_t batch : {1, 5, 63, 65, 1023, 65537, 1 << 20}) {
    const Trace out = at(base, 64, batch);
    ASSERT_EQ(out.activities.size(), base.trace.activities.size());
    ASSERT_GT(out.activities.size(), 0U);
    for (std::uint32_t a = 0; a < out.activities.size(); ++a) {
      EXPECT_GT(out.activities.duration[a].count(), 0);
      const auto grid = out.geometries[out.activities.geometry[a].index()].grid;
      EXPECT_GE(grid[0], 1U);
      EXPECT_LE(grid[1], 65535U);
      EXPECT_LE(grid[2], 65535U);
    }
  }
}

TEST(WhatifBatchProperty, ThereAndBackRestoresTheShapes) {
  const BatchTraceMaker base(64);
  const Trace there = at(base, 64, 96);
  LossList losses;
  const Trace back = with_batch({there, base.links, base.kernels, 96}, options_for(64), losses);
  ASSERT_EQ(back.ops.size(), base.trace.ops.size());
  ASSERT_GT(back.ops.size(), 0U);
  for (std::uint32_t i = 0; i < back.ops.size(); ++i) {
    EXPECT_EQ(operands_of(back, i), operands_of(base.trace, i));
  }
}

TEST(WhatifBatchProperty, HostTimesStay) {
  const BatchTraceMaker base(64);
  const Trace out = at(base, 64, 512);
  ASSERT_EQ(out.calls.size(), base.trace.calls.size());
  ASSERT_GT(out.calls.size(), 0U);
  for (std::uint32_t i = 0; i < out.calls.size(); ++i) {
    EXPECT_EQ(out.calls.begin[i], base.trace.calls.begin[i]);
    EXPECT_EQ(out.calls.duration[i], base.trace.calls.duration[i]);
  }
}

}  // namespace
}  // namespace tandem

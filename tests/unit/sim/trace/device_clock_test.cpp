// Clocks of devices that are behind the host's, or ahead of it. Times in microseconds.
#include "sim/trace/device_clock.h"

#include <gtest/gtest.h>

#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

/// Six launches 20 apart, whose kernels begin 4 to 6.5 after them, by a clock that is `behind`.
TraceMaker loop_of_clock(double behind) {
  TraceMaker m;
  for (int i = 0; i < 6; ++i) {
    m.launch(1000 + 20 * i, 3, i);
    m.kernel(1004 + 20.5 * i - behind, 5, i);
  }
  return m;
}

TEST(DeviceClock, IsMovedByTheLeastThatLetsNothingBeginBeforeItsLaunch) {
  TraceMaker m = loop_of_clock(500);
  std::vector<ClockOffset> offsets;
  const Links links = link_on_one_clock(m.trace, offsets);
  ASSERT_EQ(offsets.size(), 1U);
  EXPECT_EQ(offsets[0].device, 0);
  EXPECT_EQ(offsets[0].behind, from_us(496));  // 500 less the 4 that the first kernel took
  EXPECT_EQ(m.trace.activities.begin[0], m.trace.calls.begin[0]);
  EXPECT_EQ(m.trace.activities.begin[5], m.trace.calls.begin[5] + from_us(2.5));
  EXPECT_EQ(links.losses.count("device_clock_behind"), 1);
  EXPECT_TRUE(links.losses.any(Severity::warning));
}

TEST(DeviceClock, StaysWhereNothingBeginsBeforeItsLaunch) {
  TraceMaker m = loop_of_clock(0);
  std::vector<ClockOffset> offsets;
  const Links links = link_on_one_clock(m.trace, offsets);
  EXPECT_TRUE(offsets.empty());
  EXPECT_EQ(m.trace.activities.begin[1], TimePoint{from_us(1024.5)});
  EXPECT_TRUE(links.losses.all().empty());
}

// The host waits for the last kernel until 1113, which ends at 1611.5. The first one begins 504
// behind its launch, where an idle device takes 5.
TEST(DeviceClock, ThatIsAheadIsMovedToWhereLaunchesBeginAtOnce) {
  TraceMaker m = loop_of_clock(-500);
  m.call("cudaDeviceSynchronize", 1105, 8);
  std::vector<ClockOffset> offsets;
  const Links links = link_on_one_clock(m.trace, offsets);
  ASSERT_EQ(offsets.size(), 1U);
  EXPECT_EQ(offsets[0].behind, from_us(-499));
  EXPECT_EQ(m.trace.activities.begin[0], TimePoint{from_us(1005)});
  EXPECT_EQ(links.losses.count("device_clock_ahead"), 1);
  EXPECT_EQ(links.losses.count("device_clock_behind"), 0);
}

// One kernel that ends late says nothing of a clock by which the others begin at once.
TEST(DeviceClock, IsNotAheadWhereOtherWorkCouldNotBeEarlier) {
  TraceMaker m = loop_of_clock(0);
  m.trace.activities.begin[5] += from_us(500);
  m.call("cudaDeviceSynchronize", 1105, 8);
  std::vector<ClockOffset> offsets;
  const Links links = link_on_one_clock(m.trace, offsets);
  EXPECT_TRUE(offsets.empty());
  const LateWork late = latest_work(m.trace, links);
  EXPECT_EQ(late.activity, 5U);
  EXPECT_EQ(late.late, from_us(1606.5 + 5 - 1113));
}

TEST(DeviceClock, IsNotJudgedByOneWrongTime) {
  TraceMaker m = loop_of_clock(0);
  m.trace.activities.begin[3] -= from_us(700);
  std::vector<ClockOffset> offsets;
  link_on_one_clock(m.trace, offsets);
  EXPECT_TRUE(offsets.empty());
}

// The one that is 900 early says nothing of a clock that the others show to be behind by 46.
TEST(DeviceClock, IsJudgedWithoutASingleWrongTime) {
  TraceMaker m = loop_of_clock(50);
  m.trace.activities.begin[3] -= from_us(900);
  std::vector<ClockOffset> offsets;
  link_on_one_clock(m.trace, offsets);
  ASSERT_EQ(offsets.size(), 1U);
  EXPECT_EQ(offsets[0].behind, from_us(46));
}

TEST(DeviceClock, IsOneForEachDevice) {
  TraceMaker m = loop_of_clock(0);
  for (int i = 0; i < 4; ++i) {
    m.launch(2000 + 20 * i, 3, 100 + i);
    m.kernel(1900 + 20 * i, 5, 100 + i, 1);
  }
  m.trace.streams[1].device = 1;
  std::vector<ClockOffset> offsets;
  link_on_one_clock(m.trace, offsets);
  ASSERT_EQ(offsets.size(), 1U);
  EXPECT_EQ(offsets[0].device, 1);
  EXPECT_EQ(m.trace.activities.begin[0], TimePoint{from_us(1004)});
}

}  // namespace
}  // namespace tandem

// Kernels of several streams share the SMs. Times in microseconds.
#include "models/step/sm_pool.h"

#include <gtest/gtest.h>

#include <vector>

#include "models/runtime/measured_plan.h"
#include "models/runtime/stream_events.h"
#include "models/runtime/traced_pool.h"
#include "sim/core/pool.h"
#include "sim/engine/engine.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::at_us;
using test::round_host;
using test::TraceMaker;

TEST(Pool, LaterWorkRunsOnWhatIsLeft) {
  // Half of the places until 50, all of them later: 25 of 100 done at 50, 75 more.
  std::vector<PoolUse> others = {{at_us(50), 0.5}};
  const PoolTime t = time_in_pool(at_us(0), from_us(100), 1.0, others);
  EXPECT_EQ(t.begin, at_us(0));
  EXPECT_EQ(t.end, at_us(125));
}

TEST(Pool, LaterWorkWaitsForTheFirstPlaces) {
  // Nothing is left until 20, 0.25 of the 0.5 that it could use until 40: 10 done, 40 more.
  std::vector<PoolUse> others = {{at_us(40), 0.75}, {at_us(20), 0.25}};
  const PoolTime t = time_in_pool(at_us(0), from_us(50), 0.5, others);
  EXPECT_EQ(t.begin, at_us(20));
  EXPECT_EQ(t.end, at_us(80));
}

TEST(Pool, DoneIsTheInverseOfTime) {
  int cases = 0;
  for (const double share : {0.1, 0.5, 1.0}) {
    for (const double first : {0.2, 0.6, 0.9}) {
      for (const double second : {0.0, 0.3}) {
        std::vector<PoolUse> others = {{at_us(30), first}, {at_us(70), second}};
        const PoolTime t = time_in_pool(at_us(0), from_us(40), share, others);
        const Duration alone = done_in_pool(t.begin, t.end, share, others);
        EXPECT_NEAR(to_us(alone), 40, 1e-4) << share << " " << first << " " << second;
        ++cases;
      }
    }
  }
  EXPECT_EQ(cases, 18);
}

/// Kernel 0 holds the device over [7, 60]; kernel 1 of another stream could have begun at 12 and
/// begins at `begin`, by itself in the tail of kernel 0. Long after them, a kernel of 1.
TraceMaker contended(double begin = 58, double us = 22) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.launch(5, 5, 2);
  m.launch(195, 3, 3);
  m.kernel(7, 53, 1, 0);
  m.kernel(begin, us, 2, 1);
  m.kernel(200, 1, 3, 0);
  return m;
}

TEST(TracedPool, KnowsUntilWhenTheDeviceWasFull) {
  const TraceMaker m = contended();
  const std::vector<double> share = {1.0, 0.5, 0.0};
  const TracedPool pool(m.trace, share);
  ASSERT_FALSE(pool.empty());
  EXPECT_EQ(pool.full_until(at_us(12), at_us(58)), at_us(58));
  EXPECT_EQ(pool.full_until(at_us(0), at_us(7)), at_us(0));
  EXPECT_EQ(pool.full_until(at_us(70), at_us(90)), at_us(70));  // half is free
}

TEST(TracedPool, TakesTheWaitOutOfADuration) {
  // Of its 22 the second ran 2 at the least rate of 0.02 and 20 alone: 20.04.
  const TraceMaker m = contended();
  const std::vector<double> share = {1.0, 0.5, 0.0};
  const TracedPool pool(m.trace, share);
  EXPECT_DOUBLE_EQ(pool.alone(0), 1);
  EXPECT_NEAR(pool.alone(1), 20.04 / 22, 1e-6);
}

// Beside a kernel that holds the device from 7 to 60, another ran from 10 to 14: 4 x 0.02 = 0.08 of
// its own time, less than any kernel takes.
TEST(TracedPool, NothingTakesLessThanTheShortestKernel) {
  const TraceMaker m = contended(10, 4);
  const std::vector<double> share = {1.0, 1.0, 0.0};
  EXPECT_NEAR(TracedPool(m.trace, share).alone(1), 1.0 / 4, 1e-6);
}

TEST(TracedPool, OneStreamSharesNothing) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.kernel(7, 53, 1);
  const std::vector<double> share = {1.0};
  const TracedPool pool(m.trace, share);
  EXPECT_TRUE(pool.empty());
  EXPECT_EQ(pool.full_until(at_us(10), at_us(20)), at_us(10));
  EXPECT_DOUBLE_EQ(pool.alone(0), 1);
}

MeasuredPlan plan_of(const TraceMaker& m, const TracedPool& pool) {
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  return measured_plan(m.trace, links, host, DeviceTiming(m.trace, links, host), pool);
}

TEST(SmPool, AWaitForPlacesIsToldFromALatency) {
  // It could have begun at 12, launched at 10 with a latency of 2.
  const TraceMaker m = contended();
  const std::vector<double> share = {1.0, 0.5, 0.0};
  const DeviceWork late = plan_of(m, TracedPool(m.trace, share)).plan.works[1];
  EXPECT_EQ(late.latency, from_us(48));
  EXPECT_EQ(late.pool_latency, from_us(46));
  EXPECT_EQ(plan_of(m, {}).plan.works[1].pool_latency, Duration{});
}

TEST(SmPool, AStepWaitsForPlacesOnlyWhereTheyAreTaken) {
  const TraceMaker m = contended();
  const std::vector<double> traced = {1.0, 0.5, 0.0};
  const TracedPool pool(m.trace, traced);
  const auto end_with = [&](double first, double second) {
    Step step;
    step.trace = m.trace;
    step.plan = plan_of(m, pool).plan;
    step.traced_activity = {0, 1, 2};
    const std::vector<double> share = {first, second, 0.0};
    return to_us(simulate(share_sm_pool(pool, share, step)).work_end[1] - TimePoint{});
  };
  // As traced: it begins when the first has ended at 60 and takes 20.04.
  EXPECT_NEAR(end_with(1.0, 0.5), 80.04, 1e-5);
  // Small grids: it begins at 12.
  EXPECT_NEAR(end_with(0.4, 0.5), 32.04, 1e-5);
}

/// An event of stream 0 that stream 1 waits for, or not; both kernels fit beside each other.
TraceMaker with_event(bool waits) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.call("cudaEventRecord", 6, 1);
  if (waits) m.call("cudaStreamWaitEvent", 8, 1);
  m.launch(100, 5, 2);
  m.kernel(7, 50, 1, 0);  // ends at 57, long before the launch
  m.kernel(107, 20, 2, 1);
  return m;
}

TEST(StreamEvents, AWaitBindsTheNextLaunchToWhatWasRecorded) {
  const TraceMaker m = with_event(true);
  const StreamEvents events(m.trace, link_trace(m.trace));
  EXPECT_TRUE(events.waits(1));
  ASSERT_EQ(events.awaited(1).size(), 1u);
  EXPECT_EQ(events.awaited(1)[0], 0u);
  EXPECT_TRUE(events.awaited(0).empty());
  const MeasuredPlan measured = plan_of(m, {});
  ASSERT_EQ(measured.plan.works[1].edge_count, 1u);  // though it was not late
  EXPECT_EQ(measured.plan.edges[0].work, 0u);
}

TEST(StreamEvents, NoWaitNoDependency) {
  const TraceMaker m = with_event(false);
  const StreamEvents events(m.trace, link_trace(m.trace));
  EXPECT_FALSE(events.waits(1));
  EXPECT_TRUE(events.awaited(1).empty());
}

TEST(StreamEvents, RecordsInARowStandBehindDifferentStreams) {
  // Two streams join: record, wait, record, wait, launch.
  TraceMaker m;
  m.launch(0, 2, 1);
  m.launch(3, 2, 2);
  for (const double begin : {6, 10}) {
    m.call("cudaEventRecord", begin, 1);
    m.call("cudaStreamWaitEvent", begin + 2, 1);
  }
  m.launch(14, 2, 3);
  m.kernel(4, 20, 1, 1);
  m.kernel(6, 20, 2, 2);
  m.kernel(40, 20, 3, 0);
  const StreamEvents events(m.trace, link_trace(m.trace));
  EXPECT_EQ(events.awaited(2).size(), 2u);
}

TEST(StreamEvents, WorkThatStillRanWasNotWaitedFor) {
  TraceMaker m = with_event(true);
  m.trace.activities.begin[1] = at_us(50);
  const StreamEvents events(m.trace, link_trace(m.trace));
  EXPECT_TRUE(events.awaited(1).empty());
}

}  // namespace
}  // namespace tandem

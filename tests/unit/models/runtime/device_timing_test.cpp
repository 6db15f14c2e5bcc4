// Gaps, latencies and returns read off small traces. Times in microseconds.
#include "models/runtime/device_timing.h"

#include <gtest/gtest.h>

#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::round_host;
using test::TraceMaker;

constexpr int enough = 12;  // samples from which the trace counts as its own measurement

/// Kernels of 20, one `gap` behind the other; each was launched `lead` before its predecessor
/// ended.
void queued_kernels(TraceMaker& m, int gaps, double gap, double lead,
                    std::string_view api = "cudaLaunchKernel", std::string_view kernel = "gemm") {
  const double from = m.trace.activities.size() == 0 ? 0 : 100'000;
  for (int i = 0; i <= gaps; ++i) {
    const auto id = static_cast<std::int64_t>(m.trace.calls.size());
    const double begin = from + 1000 + i * (20 + gap);
    m.call(api, begin - gap - lead - 5, 5, id);
    m.kernel(begin, 20, id, 0, kernel);
  }
}

Duration near_gap(const TraceMaker& m, std::uint32_t next) {
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  return DeviceTiming(m.trace, links, host).gap(next - 1, next).near;
}
Duration far_gap(const TraceMaker& m, std::uint32_t next) {
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  return DeviceTiming(m.trace, links, host).gap(next - 1, next).far;
}

TEST(DeviceTiming, AFewGapsAreNoMeasurement) {
  TraceMaker m;
  queued_kernels(m, enough - 1, 1.25, 30);
  EXPECT_EQ(near_gap(m, 1), from_us(1));  // the host's constants
  EXPECT_EQ(far_gap(m, 1), from_us(1.5));
}

TEST(DeviceTiming, EnoughGapsAre) {
  TraceMaker m;
  queued_kernels(m, enough, 1.25, 30);
  EXPECT_EQ(near_gap(m, 1), from_us(1.25));
  EXPECT_EQ(far_gap(m, 1), from_us(1.75));  // plus the usual difference, 1.5 - 1
}

TEST(DeviceTiming, LongLeadsAreMeasuredApart) {
  TraceMaker m;
  queued_kernels(m, enough, 1.75, 300);
  EXPECT_EQ(far_gap(m, 1), from_us(1.75));
  EXPECT_EQ(near_gap(m, 1), from_us(1.25));  // less the usual difference
  queued_kernels(m, enough, 1.5, 30);
  EXPECT_EQ(far_gap(m, 1), from_us(1.75));
  EXPECT_EQ(near_gap(m, 1), from_us(1.5));
}

TEST(DeviceTiming, KernelsAndCallsWithEnoughGapsHaveTheirOwn) {
  TraceMaker m;
  queued_kernels(m, enough, 1.25, 30);
  queued_kernels(m, enough, -1, 30, "cudaLaunchKernelExC", "overlapping");
  EXPECT_EQ(near_gap(m, 1), from_us(1.25));
  EXPECT_EQ(near_gap(m, enough + 2), from_us(-1));
}

TEST(DeviceTiming, RareKernelsTakeTheMeanOfAll) {
  TraceMaker m;
  queued_kernels(m, enough, 1, 30);
  queued_kernels(m, 4, 5, 30, "cudaLaunchKernel", "rare");
  // 12 gaps of 1 and 4 of 5: 32 / 16.
  EXPECT_EQ(near_gap(m, enough + 2), from_us(2));
  EXPECT_EQ(near_gap(m, 1), from_us(1));
}

TEST(DeviceTiming, LongGapsHaveAnotherCause) {
  TraceMaker m;
  queued_kernels(m, enough, 1.25, 30);
  m.launch(50'000, 5, 900);
  m.launch(50'005, 5, 901);
  m.kernel(50'007, 20, 900);
  m.kernel(50'037, 20, 901);  // 10 behind
  EXPECT_EQ(near_gap(m, 1), from_us(1.25));
}

TEST(DeviceTiming, GapsInWhichAnotherStreamWorksAreKeptAsMeasured) {
  TraceMaker m;
  queued_kernels(m, enough, 1, 30);
  // A gap of 2 in which stream 1 works; its own class says 1.
  m.launch(50'000, 5, 900);
  m.launch(50'005, 5, 901);
  m.launch(50'010, 5, 902);
  const auto first = m.kernel(50'020, 20, 900);
  m.kernel(50'030, 30, 901, 1);
  const auto second = m.kernel(50'042, 20, 902);
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  const DeviceTiming timing(m.trace, links, host);
  EXPECT_EQ(timing.gap(first, second).near, from_us(2));
  EXPECT_EQ(timing.gap(first, second).traced, from_us(2));
  EXPECT_EQ(timing.gap(0, 1).near, from_us(1));  // and does not count for others
}

TEST(DeviceTiming, GapsNextToMemsetsAndCopiesHaveTheirOwnConstant) {
  TraceMaker m;
  m.call("cudaMemsetAsync", 0, 5, 1);
  m.launch(5, 5, 2);
  m.activity(ActivityKind::memset, "Memset (Device)", 10, 20, 1);
  m.kernel(32, 20, 2);
  EXPECT_EQ(near_gap(m, 1), from_us(2.5));
}

TEST(DeviceTiming, GraphNodesAndGraphsHaveTheirOwnGaps) {
  TraceMaker m;
  for (int graph = 0; graph < 2; ++graph) {
    m.call("cudaGraphLaunch", graph * 10, 5, graph);
    for (int node = 0; node < 3; ++node) m.kernel(20 + graph * 100 + node * 20, 19, graph);
  }
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  const DeviceTiming timing(m.trace, links, host);
  EXPECT_EQ(timing.gap(0, 1).near, from_us(0.5));  // 4 gaps of 1 are too few: the host's constant
  EXPECT_TRUE(timing.classify(0, 1).same_graph);
  EXPECT_FALSE(timing.classify(2, 3).same_graph);
  EXPECT_TRUE(timing.classify(2, 3).graph);
  EXPECT_EQ(timing.gap(2, 3).near, from_us(8));  // 41 is too long for a gap: the host's constant
}

TEST(DeviceTiming, OneGraphLaunchBeatsTheDefault) {
  TraceMaker m;
  for (int graph = 0; graph < 2; ++graph) {
    m.call("cudaGraphLaunch", graph * 10, 5, graph);
    for (int node = 0; node < 3; ++node) m.kernel(20 + graph * 66 + node * 20, 19, graph);
  }
  EXPECT_EQ(near_gap(m, 3), from_us(7));  // 86 - 79
}

TEST(DeviceTiming, NodesOfAGraphLaunchedBeforeTheTraceAreKnownByCorrelation) {
  TraceMaker m;
  m.kernel(0, 10, 5);
  m.kernel(11, 10, 5);
  m.kernel(22, 10, 6);
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  const DeviceTiming timing(m.trace, links, host);
  EXPECT_TRUE(timing.classify(0, 1).same_graph);
  EXPECT_FALSE(timing.classify(1, 2).same_graph);
}

TEST(DeviceTiming, LatencyIsFromTheCallsEndOnAnIdleStream) {
  for (const int launches : {enough - 1, enough}) {
    TraceMaker m;
    for (int i = 0; i < launches; ++i) {
      m.launch(i * 100, 5, i);
      m.kernel(i * 100 + 5 + 2.5, 20, i);
    }
    const Links links = link_trace(m.trace);
    const HostModel host = round_host();
    const DeviceTiming timing(m.trace, links, host);
    EXPECT_EQ(timing.latency(ActivityKind::kernel), from_us(launches < enough ? 2 : 2.5));
    EXPECT_EQ(timing.latency(ActivityKind::memset), timing.latency(ActivityKind::kernel));
  }
}

TEST(DeviceTiming, SyncReturnIsTheMeanOfThoseThatWaited) {
  TraceMaker m;
  for (int i = 0; i < 3; ++i) {
    m.launch(i * 1000, 5, i);
    m.kernel(i * 1000 + 7, 100, i);                                 // ends at 107
    m.call("cudaStreamSynchronize", i * 1000 + 10, 101.0 + 2 * i);  // returns at 111, 113, 115
  }
  m.call("cudaDeviceSynchronize", 9000, 50);  // nothing to wait for
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  EXPECT_EQ(DeviceTiming(m.trace, links, host).sync_return(), from_us(6));  // (4 + 6 + 8) / 3
}

TEST(DeviceTiming, OneSyncIsNoMeasurement) {
  TraceMaker m;
  m.launch(0, 5, 1);
  m.kernel(7, 100, 1);
  m.call("cudaStreamSynchronize", 10, 101);
  const Links links = link_trace(m.trace);
  const HostModel host = round_host();
  EXPECT_EQ(DeviceTiming(m.trace, links, host).sync_return(), from_us(5));
}

TEST(DeviceTiming, BlockingReturnIsTheMeanOfLaunchesThatOutliveTheirKernel) {
  for (const int launches : {enough - 1, enough}) {
    TraceMaker m;
    for (int i = 0; i < launches; ++i) {
      m.launch(i * 100, 40, i);
      m.kernel(i * 100 + 7, 30, i);  // ends at 37, the call at 40
    }
    m.launch(50'000, 50, 900);
    m.kernel(50'005, 5, 900);  // 40 earlier: not what the call waited for
    const Links links = link_trace(m.trace);
    const HostModel host = round_host();
    EXPECT_EQ(DeviceTiming(m.trace, links, host).blocking_return(), from_us(3));
  }
}

}  // namespace
}  // namespace tandem

// The chain of hand-made plans. Sums in microseconds.
#include "sim/metrics/critical_path.h"

#include <gtest/gtest.h>

#include "sim/engine/engine.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::at_us;
using test::PlanBuilder;
using test::TraceMaker;

std::vector<PathLink> path_of(const Plan& plan, TimePoint from = TimePoint{}) {
  return critical_path(plan, simulate(plan), from, plan.items.size(), plan.works.size());
}

/// "call 0-1, launch_latency 1-3, ..." in whole or fractional microseconds.
std::string text(const std::vector<PathLink>& links) {
  constexpr const char* names[] = {"host", "call", "work",  "latency",
                                   "gap",  "edge", "queue", "return"};
  std::string out;
  for (const PathLink& link : links) {
    char part[64];
    std::snprintf(part, sizeof part, "%s%s %g-%g", out.empty() ? "" : ", ",
                  names[static_cast<int>(link.kind)], to_us(link.begin), to_us(link.end));
    out += part;
  }
  return out;
}

/// Links follow each other without hole or overlap from `from` to the end.
void expect_covers(const std::vector<PathLink>& links, TimePoint from, TimePoint to) {
  TimePoint at = from;
  for (const PathLink& link : links) {
    EXPECT_EQ(link.begin, at);
    EXPECT_LT(link.begin, link.end);
    at = link.end;
  }
  EXPECT_EQ(at, to);
}

TEST(CriticalPath, GpuBoundChainIsKernelsAndGaps) {
  PlanBuilder b;
  for (int i = 0; i < 3; ++i) b.launch(0, 1, {.us = 10});
  EXPECT_EQ(text(path_of(b.plan)),
            "call 0-1, latency 1-3, work 3-13, gap 13-14, work 14-24, gap 24-25, work 25-35");
}

TEST(CriticalPath, HostBoundChainIsGapsAndCalls) {
  PlanBuilder b;
  for (int i = 0; i < 3; ++i) b.launch(20, 5, {.us = 1});
  // Calls [20, 25], [45, 50], [70, 75]; the last kernel [77, 78].
  EXPECT_EQ(text(path_of(b.plan)),
            "call 20-25, host 25-45, call 45-50, host 50-70, call 70-75, latency 75-77, "
            "work 77-78");
}

TEST(CriticalPath, EarlySubmissionCutsTheCall) {
  PlanBuilder b;
  b.launch(5, 10, {.us = 50});
  b.plan.items[0].submit = from_us(4);
  // The kernel waits for the submission at 9, not for the call's return at 15.
  EXPECT_EQ(text(path_of(b.plan)), "call 5-9, latency 9-11, work 11-61");
}

TEST(CriticalPath, BlockingLaunchesAlternateHostAndDevice) {
  PlanBuilder b;
  for (int i = 0; i < 2; ++i) {
    b.launch(6, 4, {.us = 10});
    b.plan.items.back().wait = WaitFor::own_work;
    b.plan.items.back().return_delay = from_us(3);
  }
  // An item that waits for its own work once was an endless loop.
  EXPECT_EQ(text(path_of(b.plan)),
            "call 6-10, latency 10-12, work 12-22, return 22-25, host 25-31, call 31-35, "
            "latency 35-37, work 37-47, return 47-50");
}

TEST(CriticalPath, FullQueueLeadsBackToTheWorkThatMadeRoom) {
  PlanBuilder b;
  for (int i = 0; i < 2; ++i) b.launch(0, 1, {.us = 100});
  b.call(500, 1);
  b.plan.queue_depth = 1;
  // w0 [3, 103] lets the second launch in; [103, 104] is its call; then 500 of host.
  EXPECT_EQ(text(path_of(b.plan)),
            "call 0-1, latency 1-3, work 3-103, queue 103-104, host 104-604, call 604-605");
}

TEST(CriticalPath, FullQueueThatStarvesTheDevice) {
  PlanBuilder b;
  for (int i = 0; i < 2; ++i) b.launch(0, 1, {.us = 10});
  b.plan.queue_depth = 1;
  // w0 [3, 13], call [13, 14], w1 [16, 26].
  EXPECT_EQ(text(path_of(b.plan)),
            "call 0-1, latency 1-3, work 3-13, queue 13-14, latency 14-16, work 16-26");
}

TEST(CriticalPath, SyncReturnsThenTheHostGoesOn) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});
  b.sync(0, 2, 5, 0);
  b.call(7, 3);
  EXPECT_EQ(text(path_of(b.plan)),
            "call 0-1, latency 1-3, work 3-13, return 13-18, host 18-25, call 25-28");
}

TEST(CriticalPath, SyncThatDidNotWaitIsACall) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});
  b.sync(99, 2, 5, no_index);
  EXPECT_EQ(text(path_of(b.plan)), "call 0-1, host 1-100, call 100-102");
}

TEST(CriticalPath, CrossesStreamsOverAnEdge) {
  PlanBuilder b(1, 2);
  b.launch(0, 1, {.us = 10});
  b.launch(0, 1, {.us = 5, .stream = 1, .edges = {{0, from_us(1.5)}}});
  EXPECT_EQ(text(path_of(b.plan)),
            "call 0-1, latency 1-3, work 3-13, edge 13-14.5, work 14.5-19.5");
}

TEST(CriticalPath, IgnoresAnEdgeToWorkThatCameTooLate) {
  // The two wait for each other on paper; work 1 was not there when work 0 could start.
  PlanBuilder b(2, 2);
  b.launch(0, 1, {.us = 5, .stream = 0, .edges = {{1, from_us(1)}}}, 0);   // [3, 8]
  b.launch(5, 1, {.us = 10, .stream = 1, .edges = {{0, from_us(1)}}}, 1);  // 8 + 1
  EXPECT_EQ(text(path_of(b.plan)), "call 0-1, latency 1-3, work 3-8, edge 8-9, work 9-19");
}

TEST(CriticalPath, CrossesThreadsOverAHandOff) {
  PlanBuilder b(2);
  b.call(1, 5, 0);
  b.plan.items[b.call(4, 2, 1)].after = 0;
  EXPECT_EQ(text(path_of(b.plan)), "call 1-6, host 6-10, call 10-12");
}

TEST(CriticalPath, FarGapsCountAsTheyWere) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 200});
  b.launch(0, 1, {.us = 10, .gap_us = 3, .far_gap_us = 1});
  EXPECT_EQ(text(path_of(b.plan)), "call 0-1, latency 1-3, work 3-203, gap 203-204, work 204-214");
}

TEST(CriticalPath, NegativeGapLeavesNoOverlap) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});
  b.launch(0, 1, {.us = 10, .gap_us = -2});
  EXPECT_EQ(text(path_of(b.plan)), "call 0-1, latency 1-3, work 3-11, work 11-21");
}

TEST(CriticalPath, NegativeGapLongerThanThePredecessorLeavesNoOverlap) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 30});                // [3, 33]
  b.launch(0, 1, {.us = 1, .gap_us = 0});    // [33, 34]
  b.launch(0, 1, {.us = 20, .gap_us = -4});  // [30, 50]: begins before its predecessor did
  const auto links = path_of(b.plan);
  EXPECT_EQ(text(links), "call 0-1, latency 1-3, work 3-30, work 30-50");
  expect_covers(links, TimePoint{}, at_us(50));
}

TEST(CriticalPath, StopsAtTheBeginOfThePeriod) {
  PlanBuilder b;
  for (int i = 0; i < 3; ++i) b.launch(0, 1, {.us = 10});
  const auto links = path_of(b.plan, at_us(18));
  EXPECT_EQ(text(links), "work 18-24, gap 24-25, work 25-35");
  expect_covers(links, at_us(18), at_us(35));
}

TEST(CriticalPath, LooksAtTheFirstItemsAndWorkOnly) {
  PlanBuilder b;
  b.launch(0, 1, {.us = 10});
  b.launch(0, 1, {.us = 10});
  b.sync(0, 2, 5, no_index);
  const auto links = critical_path(b.plan, simulate(b.plan), TimePoint{}, 2, 2);
  EXPECT_EQ(text(links), "call 0-1, latency 1-3, work 3-13, gap 13-14, work 14-24");
}

TEST(CriticalPath, LinksNameTheirRows) {
  PlanBuilder b;
  b.launch(5, 1, {.us = 10});
  b.plan.items[0].source = 7;
  b.plan.works[0].source = 9;
  const auto links = path_of(b.plan);
  ASSERT_EQ(links.size(), 3u);
  EXPECT_EQ(links[0].row, 7u);  // call
  EXPECT_EQ(links[1].row, 9u);  // latency of the work
  EXPECT_EQ(links[2].row, 9u);
}

TEST(SummarizePath, MergesByKindAndNameLongestFirst) {
  test::TraceMaker m;
  m.op("aten::conv2d", 0, 50);
  m.launch(10, 5, 1);
  m.launch(70, 5, 2);
  m.kernel(20, 30, 1);
  m.kernel(80, 5, 2);
  const std::vector<PathLink> path{
      {PathKind::host, 0, at_us(0), at_us(10)},
      {PathKind::call, 0, at_us(10), at_us(15)},
      {PathKind::work, 0, at_us(15), at_us(45)},
      {PathKind::device_gap, 0, at_us(45), at_us(46)},
      {PathKind::work, 1, at_us(46), at_us(70)},
      {PathKind::host, 1, at_us(70), at_us(75)},
      {PathKind::call, no_index, at_us(75), at_us(80)},
  };
  const std::vector<std::string_view> op_of_call{"aten::conv2d", ""};
  const auto shares = summarize_path(m.trace, op_of_call, path);
  ASSERT_EQ(shares.size(), 6u);
  EXPECT_EQ(shares[0].kind, PathKind::work);
  EXPECT_EQ(shares[0].name, "gemm");
  EXPECT_EQ(shares[0].count, 2);
  EXPECT_DOUBLE_EQ(shares[0].time_us, 54);  // 30 + 24
  EXPECT_DOUBLE_EQ(shares[0].share, 54.0 / 80);
  EXPECT_EQ(shares[1].name, "in or before aten::conv2d");
  EXPECT_DOUBLE_EQ(shares[1].time_us, 10);
  double sum = 0;
  for (const PathShare& s : shares) sum += s.share;
  EXPECT_DOUBLE_EQ(sum, 1);
  std::string names;
  for (const PathShare& s : shares) names += std::string(to_string(s.kind)) + ": " + s.name + "\n";
  EXPECT_NE(names.find("host: (Python, between operations)"), std::string::npos) << names;
  EXPECT_NE(names.find("call: cudaLaunchKernel"), std::string::npos) << names;
  EXPECT_NE(names.find("call: (synchronize)"), std::string::npos) << names;
  EXPECT_NE(names.find("device_gap: (between device work)"), std::string::npos) << names;
}

TEST(SummarizePath, OfNothingIsNothing) {
  test::TraceMaker m;
  m.kernel(0, 1, -1);
  EXPECT_TRUE(summarize_path(m.trace, {}, {}).empty());
}

TEST(CriticalPath, OfVeryManyPartsTheLeastAreSummedUp) {
  // 10,003 calls of 1 us each; the first two take 5 us.
  constexpr std::uint32_t calls = 10'003;
  TraceMaker m;
  std::vector<PathLink> path;
  double at = 0;
  for (std::uint32_t i = 0; i < calls; ++i) {
    const double us = i < 2 ? 5 : 1;
    m.call("call" + std::to_string(i), at, us);
    path.push_back({PathKind::call, i, at_us(at), at_us(at + us)});
    at += us;
  }
  const std::vector<std::string_view> no_op(calls);
  const auto shares = summarize_path(m.trace, no_op, path);
  ASSERT_EQ(shares.size(), 10'001u);
  EXPECT_EQ(shares.back().kind, PathKind::call);
  EXPECT_EQ(shares.back().name, "(3 others)");
  EXPECT_DOUBLE_EQ(shares.back().time_us, 3);
  const auto parts = step_parts(m.trace, {{}, {}, no_op}, path);
  ASSERT_EQ(parts.size(), 10'001u);
  Duration sum{};
  std::int64_t unnamed = 0;
  for (const StepPart& part : parts) {
    sum += part.time;
    if (part.name.empty()) unnamed += part.count;
  }
  EXPECT_EQ(sum, from_us(at));
  EXPECT_EQ(unnamed, 3);
}

}  // namespace
}  // namespace tandem

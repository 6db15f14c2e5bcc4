// What the timeline for Perfetto shows, and that nothing in it overlaps in part.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/step/attribution.h"
#include "sim/engine/engine.h"
#include "sim/report/report.h"
#include "sim/report/timeline/host_ranges.h"
#include "sim/report/timeline/lanes.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;
using test::at_us;
using test::PlanBuilder;
using test::TraceMaker;

std::vector<TrackSlice> slices(std::initializer_list<FileSpan> spans) {
  std::vector<TrackSlice> out;
  for (const FileSpan& span : spans) {
    out.push_back({span, static_cast<std::uint32_t>(out.size()), SliceKind::call});
  }
  return out;
}

std::vector<int> lanes_by_row(std::vector<TrackSlice> all, bool nested) {
  set_lanes(all, nested);
  std::vector<int> lanes(all.size());
  for (const TrackSlice& s : all) lanes[s.row] = s.lane;
  return lanes;
}

TEST(Lanes, HoldWhatNestsOrTouches) {
  EXPECT_EQ(lanes_by_row(slices({{10, 20}, {0, 40}, {20, 40}, {40, 50}}), true),
            (std::vector<int>{0, 0, 0, 0}));
}

TEST(Lanes, KeepApartWhatOverlapsInPart) {
  // 5-15 leaves 0-10; 12-14 is inside it, and may also follow 0-10.
  EXPECT_EQ(lanes_by_row(slices({{0, 10}, {5, 15}, {12, 14}}), true), (std::vector<int>{0, 1, 0}));
}

TEST(Lanes, OfAStreamHoldOnePieceOfWorkAtATime) {
  EXPECT_EQ(lanes_by_row(slices({{0, 10}, {2, 8}, {10, 12}}), false), (std::vector<int>{0, 1, 0}));
}

TEST(Lanes, PutTheOuterSliceOfOneTimeFirst) {
  std::vector<TrackSlice> all = slices({{0, 10}, {0, 10}});
  all[1].kind = SliceKind::op;
  set_lanes(all, true);
  EXPECT_EQ(all[0].kind, SliceKind::op);
}

/// An operation around two launches, one around none, and a simulation in which the first launch
/// begins at 20 instead of 10 and takes 10 instead of 5, the second begins at 60 instead of 30.
struct Ranges {
  Ranges() {
    m.op("aten::linear", 5, 40);
    m.op("aten::view", 17, 5);
    m.launch(10, 5, 1);
    m.launch(30, 5, 2);
    b.launch(20, 10, {.us = 1});
    b.launch(30, 5, {.us = 1});
    for (std::uint32_t i = 0; i < 2; ++i) b.plan.items[i].source = i;
    timeline = simulate(b.plan);
  }
  TraceMaker m;
  PlanBuilder b;
  Timeline timeline;
};

TEST(PlacedRanges, FollowTheCallsInside) {
  const Ranges r;
  const auto ranges = host_ranges(r.m.trace, r.b.plan, r.timeline);
  ASSERT_EQ(ranges.size(), 1u);           // the view launches nothing
  EXPECT_EQ(ranges[0].begin, at_us(15));  // 5 before the first call
  EXPECT_EQ(ranges[0].end, at_us(75));    // 10 after the end of the second, which is 65
}

TEST(PlacedRanges, LieInProportionBetweenTwoCalls) {
  Ranges r;
  // Ends at 22.5, in the middle of 15 to 30, which became 30 to 60.
  r.m.trace.ops.duration[0] = from_us(17.5);
  const auto ranges = host_ranges(r.m.trace, r.b.plan, r.timeline);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].end, at_us(45));
}

TEST(PlacedRanges, AreNotThereWhereAGraphIsLaunched) {
  Ranges r;
  for (HostItem& item : r.b.plan.items) item.kind = ItemKind::graph_launch;
  EXPECT_TRUE(host_ranges(r.m.trace, r.b.plan, r.timeline).empty());
}

/// Two kernels; the second overlaps the first in the trace.
struct TimelineRun {
  TimelineRun() {
    m.op("aten::add", -3, 33);
    m.launch(10, 5, 1);
    m.launch(20, 5, 2);
    m.kernel(17, 10, 1, 0, "a \"quoted\", name\n");
    m.kernel(26, 10.5, 2, 0, "gemm");
    m.trace.geometries.push_back({{8, 4, 2}, {128, 1, 1}, 32, 1024});
    m.trace.activities.geometry[1] = GeometryId{std::size_t{0}};
    links = link_trace(m.trace);
    attribution = attribute(m.trace, links);
    b.launch(10, 5, {.us = 10});
    b.launch(5, 5, {.us = 10.5});
    b.marker(ItemKind::step_end);
    for (std::uint32_t i = 0; i < 2; ++i) b.plan.items[i].source = b.plan.works[i].source = i;
    timeline = simulate(b.plan);
    path = critical_path(b.plan, timeline, TimePoint::min(), 3, 2);
  }
  SimulatedRun simulated() const {
    const Attribution& a = attribution;
    return {m.trace, b.plan, timeline, {}, {}, {a.op, a.layer, a.op_of_call}, {}, {}, path};
  }
  ordered_json events() const {
    std::ostringstream out;
    write_timeline(out, simulated(), simulated());
    return ordered_json::parse(out.str())["traceEvents"];
  }
  TraceMaker m;
  Links links;
  Attribution attribution;
  PlanBuilder b;
  Timeline timeline;
  std::vector<PathLink> path;
};

TEST(TimelineJson, ShowsEveryTrack) {
  std::map<std::string, int> phases, categories;
  std::map<int, int> of_process;
  for (const auto& event : TimelineRun().events()) {
    ++phases[event["ph"]];
    if (event["ph"] != "X") continue;
    ++categories[event["cat"]];
    ++of_process[event["pid"].get<int>()];
  }
  // Traced, re-simulated and scenario.
  EXPECT_EQ(categories["op"], 3);
  EXPECT_EQ(categories["cuda_runtime"], 6);
  EXPECT_EQ(categories["kernel"], 6);
  // 0 to 10 host, call, latency, kernel, gap, kernel: twice.
  EXPECT_EQ(categories["critical_path"], 2 * static_cast<int>(TimelineRun().path.size()));
  EXPECT_EQ(of_process[1], 3);
  EXPECT_EQ(of_process[2], 2);
  EXPECT_EQ(phases["s"], 6);
  EXPECT_EQ(phases["f"], 6);
  EXPECT_EQ(phases["i"], 2);  // the mark of the step's end
}

TEST(TimelineJson, BeginsAtZeroAndKeepsOverlapsApart) {
  double first = 1e9;
  std::map<int, int> kernels_of_track;
  for (const auto& event : TimelineRun().events()) {
    if (event["ph"] == "M") continue;
    first = std::min(first, event["ts"].get<double>());
    if (event.value("cat", "") == "kernel") ++kernels_of_track[event["tid"].get<int>()];
  }
  EXPECT_NEAR(first, 0, 1e-3);  // the operation that began 3 us before the trace's origin
  // Of the traced stream a lane each, of the simulated ones both in one.
  EXPECT_EQ(kernels_of_track.size(), 2u + 1 + 1);
}

TEST(TimelineJson, SaysWhatAKernelIs) {
  int said = 0;
  for (const auto& event : TimelineRun().events()) {
    if (event.value("cat", "") != "kernel" || event["name"] != "gemm") continue;
    EXPECT_EQ(event["args"]["op"], "aten::add");
    EXPECT_EQ(event["args"]["layer"], "pointwise");
    EXPECT_EQ(event["args"]["grid"], (std::vector<int>{8, 4, 2}));
    ++said;
  }
  EXPECT_EQ(said, 3);
}

}  // namespace
}  // namespace tandem

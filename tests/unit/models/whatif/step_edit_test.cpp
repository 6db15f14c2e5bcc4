// Edits of a step of three kernels; times in microseconds.
#include "models/whatif/edit/step_edit.h"

#include <gtest/gtest.h>

#include "models/step/op_nesting.h"
#include "models/whatif/edit/added_host.h"
#include "models/whatif/edit/step_edges.h"
#include "sim/engine/engine.h"
#include "sim/predict/predict.h"
#include "sim/trace/importers/kineto/operands.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/replay_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

/// One step: three operations of 20, each launching one kernel, gaps of 10 before calls of 5.
Step small_step() {
  TraceMaker m;
  m.step(0, 0, 100);
  const char* const names[] = {"first", "second", "third"};
  for (int k = 0; k < 3; ++k) {
    const double begin = 10.0 + 20.0 * k;
    m.op("aten::op", begin, 20);
    m.launch(begin + 10, 5, 10 + k);
    m.kernel(begin + 17, 8, 10 + k, 0, names[k]);
  }
  return analyse(m.trace, test::as_traced()).traced_step;
}

std::vector<std::string> names_in_order(const Step& step) {
  std::vector<std::string> names;
  for (const DeviceWork& work : step.plan.works) {
    names.emplace_back(step.trace.strings.get(step.trace.activities.name[work.source]));
  }
  return names;
}

std::size_t launches(const Step& step) {
  std::size_t n = 0;
  for (const HostItem& item : step.plan.items) n += item.kind == ItemKind::launch;
  return n;
}

NewKernel cast(const std::string& name) {
  NewKernel k;
  k.kernel.name = name;
  k.op = "aten::_to_copy";
  k.operands = kineto::parse_operands({"[[8,16]]", R"(["float"])", "", ""});
  k.geometry = {{4, 1, 1}, {128, 1, 1}, 16, 0};
  k.duration_us = 3;
  k.host_us = 9;
  return k;
}

TEST(StepEdit, AKernelWithoutAnOperationBelongsToThatOfItsNeighbour) {
  const Step before = small_step();
  StepEdit edit(before, 4);
  for (const bool before_it : {true, false}) {
    NewKernel k = cast("a");
    k.op.clear();
    before_it ? edit.insert_before(1, std::move(k)) : edit.insert_after(1, std::move(k));
  }
  const Step after = std::move(edit).finish();
  ASSERT_EQ(after.trace.activities.size(), 5U);
  EXPECT_EQ(after.trace.ops.size(), before.trace.ops.size());
  const OpNesting nesting = nest_ops(after.trace, after.links);
  std::size_t inside = 0;
  for (std::uint32_t a = 0; a < after.trace.activities.size(); ++a) {
    inside += nesting.of_activity[a] == nesting.of_activity[after.plan.works[2].source];
  }
  EXPECT_EQ(inside, 3U);
}

// A thread that goes on behind the second launch does so behind what is inserted after it.
TEST(StepEdit, HandOffsWaitForWhatIsInserted) {
  Step step = small_step();
  const std::uint32_t second = step.plan.works[1].item, third = step.plan.works[2].item;
  step.plan.items[third].after = second;
  StepEdit edit(step, 4);
  edit.insert_after(1, cast("a"));
  const Step after = std::move(edit).finish();
  EXPECT_EQ(after.plan.items[after.plan.works[3].item].after, after.plan.works[2].item);
}

// Of three traced calls of 5 us and four that an edit adds, 2 ps each, the middle one is 5 us.
TEST(StepEdit, AddedCallsTellNothingOfTheTracedHost) {
  const Step before = small_step();
  StepEdit edit(before, 4);
  for (int k = 0; k < 4; ++k) edit.insert_after(1, cast("a"));
  const HostModel host = load_host_model(source_path("configs/hosts/default.json"));
  EXPECT_NEAR(added_host(std::move(edit).finish(), host).traced_call_us, 5, 1e-9);
}

TEST(StepEdit, AKernelBesideACopyIsNoCopy) {
  Step before = small_step();
  before.plan.works[0].engine = DeviceEngine::copy_to_device;
  StepEdit edit(before, 4);
  edit.insert_before(0, cast("a"));
  const Step after = std::move(edit).finish();
  ASSERT_EQ(after.plan.works.size(), 4U);
  EXPECT_EQ(after.plan.works[0].engine, DeviceEngine::compute);
  EXPECT_EQ(after.plan.works[1].engine, DeviceEngine::copy_to_device);
}

TEST(StepEdit, DropsAKernelAndItsCallButKeepsTheHostTimeBeforeIt) {
  const Step before = small_step();
  StepEdit edit(before, 4);
  edit.drop(1);
  const Step after = std::move(edit).finish();
  EXPECT_EQ(names_in_order(after), (std::vector<std::string>{"first", "third"}));
  EXPECT_EQ(after.trace.activities.size(), 2U);
  EXPECT_EQ(after.trace.calls.size(), 2U);
  EXPECT_EQ(launches(after), 2U);
  Duration gaps_before{};
  Duration gaps_after{};
  for (const HostItem& item : before.plan.items) gaps_before += item.gap;
  for (const HostItem& item : after.plan.items) gaps_after += item.gap;
  EXPECT_EQ(gaps_before, gaps_after);
  EXPECT_EQ(after.traced_activity, (std::vector<std::uint32_t>{0, 2}));
}

TEST(StepEdit, DropsTheHostTimeTooIfAskedTo) {
  const Step before = small_step();
  StepEdit edit(before, 4);
  edit.drop(1, true);
  const Step after = std::move(edit).finish();
  Duration lost{};
  for (const HostItem& item : before.plan.items) lost += item.gap;
  for (const HostItem& item : after.plan.items) lost -= item.gap;
  EXPECT_EQ(lost, before.plan.items[before.plan.works[1].item].gap);
}

// The host that waited for input, and for another thread, before a launch that vanishes still does.
TEST(StepEdit, KeepsTheWaitsBeforeADroppedCall) {
  Step before = small_step();
  HostItem& old = before.plan.items[before.plan.works[1].item];
  old.input = microseconds(3);
  old.after = 0;
  old.wake = microseconds(2);
  old.own_gap = true;
  const std::uint32_t place = before.plan.works[1].item;
  StepEdit edit(before, 4);
  edit.drop(1);
  const HostItem rest = std::move(edit).finish().plan.items[place];
  EXPECT_EQ(rest.kind, ItemKind::call);
  EXPECT_EQ(rest.gap, old.gap);
  EXPECT_EQ(rest.input, microseconds(3));
  EXPECT_EQ(rest.after, 0U);
  EXPECT_EQ(rest.wake, microseconds(2));
  EXPECT_TRUE(rest.own_gap);
  StepEdit with_gap(before, 4);
  with_gap.drop(1, true);
  EXPECT_EQ(std::move(with_gap).finish().plan.items[place].input, Duration::zero());
}

/// The small step with its last two kernels behind the second launch, as a library's call has them.
Step grouped_step() {
  TraceMaker m;
  m.step(0, 0, 100);
  m.op("aten::op", 10, 20);
  m.launch(20, 5, 10);
  m.kernel(27, 8, 10, 0, "first");
  m.op("aten::op", 30, 20);
  m.launch(40, 5, 11);
  m.kernel(47, 8, 11, 0, "second");
  m.kernel(57, 8, 11, 0, "third");
  return analyse(m.trace, test::as_traced()).traced_step;
}

TEST(StepEdit, ALaunchGoesWithTheLastOfItsKernels) {
  const Step before = grouped_step();
  ASSERT_EQ(before.plan.works.size(), 3U);
  const std::uint32_t place = before.plan.works[1].item;
  ASSERT_EQ(before.plan.works[2].item, place);
  StepEdit one(before, 4);
  one.drop(1);
  const Step with_one = std::move(one).finish();
  EXPECT_EQ(with_one.plan.items[place].kind, ItemKind::launch);
  EXPECT_EQ(with_one.trace.calls.size(), 2U);
  StepEdit both(before, 4);
  both.drop(1);
  both.drop(2);
  const Step with_none = std::move(both).finish();
  EXPECT_EQ(with_none.plan.items[place].kind, ItemKind::call);
  EXPECT_EQ(with_none.plan.items[place].gap, before.plan.items[place].gap);
  EXPECT_EQ(with_none.plan.items[place].call, Duration::zero());
  EXPECT_EQ(with_none.trace.calls.size(), 1U);
  EXPECT_NO_THROW(simulate(with_none.plan));
}

TEST(StepEdit, AGapHoldsItsWaitForInput) {
  Step step = small_step();
  const std::uint32_t place = step.plan.works[1].item;
  step.plan.items[place].input = microseconds(6);
  StepEdit edit(std::move(step), 4);
  edit.set_gap(place, microseconds(5));
  EXPECT_EQ(edit.step().plan.items[place].input, microseconds(5));
  edit.drop_wait(place);
  EXPECT_EQ(edit.step().plan.items[place].gap, microseconds(5));
}

TEST(StepEdit, InsertsInOrderAroundAKernel) {
  StepEdit edit(small_step(), 4);
  edit.insert_before(1, cast("a"));
  edit.insert_before(1, cast("b"));
  edit.insert_after(1, cast("c"));
  edit.drop(1);
  edit.insert_after(1, cast("d"));
  const Step after = std::move(edit).finish();
  EXPECT_EQ(names_in_order(after),
            (std::vector<std::string>{"first", "a", "b", "c", "d", "third"}));
  EXPECT_EQ(launches(after), 6U);
  EXPECT_EQ(after.traced_activity.size(), 6U);
  // A launch of 9 is a gap of 5 and a call of 4.
  const HostItem& item = after.plan.items[after.plan.works[1].item];
  EXPECT_EQ(item.gap, microseconds(5));
  EXPECT_EQ(item.call, microseconds(4));
  EXPECT_EQ(after.plan.works[1].duration, microseconds(3));
}

TEST(StepEdit, GivesWhatItAddsAnOperationACallAndALink) {
  StepEdit edit(small_step(), 4);
  edit.insert_before(2, cast("a"));
  const Step after = std::move(edit).finish();
  const std::uint32_t activity = after.plan.works[2].source;
  const std::uint32_t call = after.links.call_of_activity[activity];
  ASSERT_NE(call, no_row);
  EXPECT_EQ(after.plan.items[after.plan.works[2].item].source, call);
  const OpNesting ops = nest_ops(after.trace, after.links);
  EXPECT_EQ(after.trace.strings.get(after.trace.ops.name[ops.of_call[call]]), "aten::_to_copy");
  EXPECT_EQ(after.trace.strings.get(after.trace.ops.name[ops.parent[ops.of_call[call]]]),
            "aten::op");
  EXPECT_EQ(after.traced_activity[activity], no_row);
}

std::string_view operation_of(const Step& step, std::size_t work) {
  const OpNesting ops = nest_ops(step.trace, step.links);
  const std::uint32_t op = ops.of_activity[step.plan.works[work].source];
  return step.trace.strings.get(step.trace.ops.name[op]);
}

// What one edit has added stands closer together than another can tell: its rows never hold those
// of others, so that a product keeps its operands where casts before it are fused.
TEST(StepEdit, WhatAnEarlierEditHasAddedHoldsNothingElse) {
  StepEdit casts(small_step(), 4);
  casts.insert_before(1, cast("first operand"));
  casts.insert_before(1, cast("second operand"));
  StepEdit fused(std::move(casts).finish(), 4);
  fused.drop(1);
  fused.drop(2);
  NewKernel generated = cast("fused");
  generated.op = "triton_poi_fused";
  fused.insert_after(1, generated);
  fused.insert_after(2, generated);
  const Step after = std::move(fused).finish();
  ASSERT_EQ(names_in_order(after),
            (std::vector<std::string>{"first", "fused", "fused", "second", "third"}));
  EXPECT_EQ(operation_of(after, 1), "triton_poi_fused");
  EXPECT_EQ(operation_of(after, 2), "triton_poi_fused");
  EXPECT_EQ(operation_of(after, 3), "aten::op");
}

TEST(StepEdit, AWaitForAllWorkStallsTheHost) {
  StepEdit edit(small_step(), 4);
  edit.set_duration(0, microseconds(1000));
  edit.insert_sync_after(0, 1, 2);
  const Step after = std::move(edit).finish();
  const Timeline t = simulate(after.plan);
  // The second launch comes after the first kernel, which runs for 1000.
  EXPECT_GT(t.item_begin[after.plan.works[1].item], t.work_end[0]);
}

TEST(StepEdit, ChangesKernelsInPlace) {
  StepEdit edit(small_step(), 4);
  edit.set_kernel(1, {{KernelFamily::softmax, DataType::fp16, {}}, "renamed"});
  edit.set_duration(1, microseconds(2));
  edit.set_geometry(1, {{7, 1, 1}, {64, 1, 1}, 8, 0});
  const Step after = std::move(edit).finish();
  EXPECT_EQ(names_in_order(after)[1], "renamed");
  EXPECT_EQ(after.kernels.of(after.plan.works[1].source).family, KernelFamily::softmax);
  EXPECT_EQ(after.kernels.size(), after.trace.activities.size());
  EXPECT_EQ(after.plan.works[1].duration, microseconds(2));
  const GeometryId g = after.trace.activities.geometry[after.plan.works[1].source];
  EXPECT_EQ(after.trace.geometries[g.index()].grid[0], 7U);
}

/// Works on streams 0, 0, 1, 0 of one step; the third waits for the second, the fourth for the
/// third.
Plan forked() {
  Plan plan;
  plan.streams = {"7", "13"};
  for (const std::uint32_t stream : {0U, 0U, 1U, 0U}) {
    DeviceWork work;
    work.stream = stream;
    plan.works.push_back(work);
  }
  plan.edges = {{.work = 1}, {.work = 2}};
  plan.works[2].edge_count = 1;
  plan.works[3].first_edge = 1;
  plan.works[3].edge_count = 1;
  return plan;
}

/// The plan without the marked works.
Plan without(const Plan& old, const std::vector<bool>& dropped) {
  Plan plan;
  plan.streams = old.streams;
  std::vector<std::uint32_t> new_work(old.works.size(), no_index);
  std::vector<WorkOrigin> origins;
  for (std::uint32_t w = 0; w < old.works.size(); ++w) {
    if (dropped[w]) continue;
    new_work[w] = static_cast<std::uint32_t>(plan.works.size());
    plan.works.push_back(old.works[w]);
    origins.push_back({w, true});
  }
  move_edges(old, new_work, origins, plan);
  return plan;
}

TEST(StepEdges, WorkBeforeADroppedOneStandsIn) {
  const Plan plan = without(forked(), {false, true, false, false});
  ASSERT_EQ(plan.edges.size(), 2U);  // works are now 0 (stream 7), 1 (13), 2 (7)
  EXPECT_EQ(plan.edges[0].work, 0U);
  EXPECT_FALSE(plan.edges[0].previous_step);
  EXPECT_EQ(plan.edges[1].work, 1U);
}

// Both works that stream 13 could wait for are gone: the end of the step before stands in. Without
// that, stream 13 would run ahead into later steps.
TEST(StepEdges, TheStepBeforeStandsInForADroppedBeginning) {
  const Plan plan = without(forked(), {true, true, false, false});
  ASSERT_EQ(plan.edges.size(), 2U);  // 0 (stream 13), 1 (stream 7)
  EXPECT_EQ(plan.edges[0].work, 1U);
  EXPECT_TRUE(plan.edges[0].previous_step);
}

// The work that joined the streams is gone: the next step's first work of its stream joins them.
TEST(StepEdges, TheNextStepInheritsADroppedJoin) {
  const Plan plan = without(forked(), {false, false, false, true});
  ASSERT_EQ(plan.works[0].edge_count, 1U);
  EXPECT_EQ(plan.edges[plan.works[0].first_edge].work, 2U);
  EXPECT_TRUE(plan.edges[plan.works[0].first_edge].previous_step);
}

TEST(StepEdges, TheNextWorkOfAStreamInheritsADroppedJoin) {
  Plan old = forked();
  old.works.push_back(old.works[0]);  // a fifth work, on stream 7
  const Plan plan = without(old, {false, false, false, true, false});
  ASSERT_EQ(plan.works[3].edge_count, 1U);
  EXPECT_EQ(plan.edges[plan.works[3].first_edge].work, 2U);
  EXPECT_FALSE(plan.edges[plan.works[3].first_edge].previous_step);
}

// 65536 elements a block of 512 threads; the last chunk is not full.
TEST(StepEdit, AKernelOnListsHasABlockForEachChunk) {
  const LaunchGeometry g = chunks_geometry(2 * 65536 + 1);
  EXPECT_EQ(g.grid[0], 3U);
  EXPECT_EQ(g.block[0], 512U);
}

}  // namespace
}  // namespace tandem

// Traces of two ranks: waits apart from moving data, simulated together. Times in microseconds.
#include <gtest/gtest.h>

#include "sim/core/collective.h"
#include "sim/predict/ranks/meeting.h"
#include "sim/predict/ranks/moving.h"
#include "sim/predict/ranks/replay_ranks.h"
#include "sim/predict/traced_run.h"
#include "sim/trace/import.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

/// One step of 100: an all-reduce of 8 MB among two ranks that takes `us` from 20 on.
TraceMaker rank_that_waits(double us, int rank) {
  TraceMaker m;
  m.step(0, 0, 100);
  m.op("c10d::allreduce_", 5, 20);
  m.launch(10, 5, 1);
  m.kernel(20, us, 1, 0, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()");
  Collective c;
  c.kind = CollectiveKind::all_reduce;
  c.in_bytes = c.out_bytes = 8'000'000;
  c.ranks = 2;
  c.group = "0";
  m.trace.collectives = {c};
  m.trace.activities.collective[0] = CollectiveId(std::size_t{0});
  m.trace.distributed = {rank, 2};
  return m;
}

TracedRun measured(const TraceMaker& m) {
  ReplayOptions o;
  o.configs = source_path("configs");
  o.traced_gpu = "h200_sxm";
  return measure(m.trace, o, load_configs(o.configs, "default"));
}

TEST(Ranks, TheLastToComeWaitsForNobody) {
  TracedRun a = measured(rank_that_waits(70, 0));
  TracedRun b = measured(rank_that_waits(45, 1));
  const std::vector<MeasuredRank> ranks{{a.trace, a.measured}, {b.trace, b.measured}};
  EXPECT_TRUE(remove_waits(ranks));
  EXPECT_EQ(a.measured.plan.works[0].duration, from_us(45));
  EXPECT_EQ(b.measured.plan.works[0].duration, from_us(45));
}

TEST(Ranks, ARankByItselfMovesDataAsFastAsTheLawSays) {
  const Configs configs = load_configs(source_path("configs"), "default");
  TracedRun waits = measured(rank_that_waits(2000, 0));
  TracedRun moves = measured(rank_that_waits(48, 0));
  LossList losses;
  remove_waits(waits.trace, &*waits.gpu, configs.collectives, waits.measured, losses);
  remove_waits(moves.trace, &*moves.gpu, configs.collectives, moves.measured, losses);
  // 20 + 3.4 + 8e6 / 305e3, for a trace in which nobody but this rank ever came last.
  EXPECT_NEAR(to_us(waits.measured.plan.works[0].duration), 49.6, 1);
  EXPECT_EQ(moves.measured.plan.works[0].duration, from_us(48));  // as measured
  EXPECT_EQ(losses.count("other_ranks_not_traced"), 2);
}

TEST(Ranks, CollectivesOfUnknownSizeStayAndAreCounted) {
  const Configs configs = load_configs(source_path("configs"), "default");
  TraceMaker m = rank_that_waits(2000, 0);
  m.trace.collectives[0].in_bytes = m.trace.collectives[0].out_bytes = 0;
  TracedRun run = measured(m);
  LossList losses;
  remove_waits(run.trace, &*run.gpu, configs.collectives, run.measured, losses);
  EXPECT_EQ(run.measured.plan.works[0].duration, from_us(2000));
  EXPECT_EQ(losses.count("collective_waits_unknown"), 1);
}

/// A launch after `gap` of host time, of a collective of 10.
Plan step_of(double gap) {
  test::PlanBuilder b;
  b.marker(ItemKind::step_begin);
  b.launch(gap, 1, {.us = 10, .engine = DeviceEngine::collective});
  b.sync(0, 1, 1, 0);
  b.marker(ItemKind::step_end);
  return b.plan;
}

TEST(Ranks, TheSlowerRankSetsThePace) {
  const TraceMaker m = rank_that_waits(10, 0);
  const std::vector<RankStep> steps{{m.trace, "a", 0, step_of(20)}, {m.trace, "b", 1, step_of(50)}};
  const RanksTogether out = simulate_ranks(steps, test::round_host());
  // Of the slower one: 50 until the launch, its call of 1 and latency of 2, 10 of data, 1 to
  // return.
  EXPECT_NEAR(out.summary.time_us, 64, 1e-6);
  ASSERT_EQ(out.summary.ranks.size(), 2U);
  EXPECT_NEAR(out.summary.ranks[0].waiting_us, 30, 1e-6);
  EXPECT_NEAR(out.summary.ranks[1].waiting_us, 0, 1e-6);
  EXPECT_NEAR(out.summary.ranks[0].exposed_us, 40, 1e-6);  // nothing computes
  EXPECT_NEAR(out.summary.skew_worst_us, 30, 1e-6);
  EXPECT_NEAR(out.summary.ranks[0].time_us, out.summary.ranks[1].time_us, 1e-6);
}

// Rank 0 gets ahead of rank 1 for eight steps before it waits as long in each; its step, for which
// collectives last as long as then, takes as long as both of them together.
TEST(Ranks, TheStepOfARankTakesAsLongAsAllTogether) {
  const std::string stem = source_path(
      "validation/captures/h200_2026-11-27_compiled_ranks_holdout/traces/"
      "vit_b_16-train-bf16-compile-b32-w2.rank");
  ReplayOptions o;
  o.configs = source_path("configs");
  std::vector<Trace> traces;
  for (const char* rank : {"0", "1"}) traces.push_back(import_trace(stem + rank + ".json.zst"));
  const RanksReplay out = replay_ranks(std::move(traces), o);
  const Result& result = out.replays.front().prediction.result;
  ASSERT_TRUE(result.ranks.has_value());
  EXPECT_NEAR(result.step.time_us, result.ranks->time_us, 5e-3 * result.ranks->time_us);
}

TEST(Ranks, OtherCollectivesAreAnError) {
  const TraceMaker m = rank_that_waits(10, 0);
  TraceMaker other = rank_that_waits(10, 1);
  other.trace.collectives[0].kind = CollectiveKind::broadcast;
  const std::vector<RankStep> steps{{m.trace, "a", 0, step_of(20)},
                                    {other.trace, "b", 1, step_of(20)}};
  try {
    simulate_ranks(steps, test::round_host());
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "b:collectives of group 0, number 1: found broadcast, expected all_reduce, as "
                 "rank 0 has");
  }
}

// Alone, rank 1 would not wait for rank 0, whose host is 40 slower: what changes nothing would be
// slower than what it is compared with.
TEST(Ranks, ScenariosAreComparedWithTheTracedRanksTogether) {
  TraceMaker slow = rank_that_waits(45, 0);
  for (TimePoint& begin : slow.trace.calls.begin) begin += from_us(40);
  for (TimePoint& begin : slow.trace.activities.begin) begin += from_us(40);
  slow.trace.annotations.duration[0] += from_us(40);
  ReplayOptions o;
  o.configs = source_path("configs");
  o.mode.mode = Mode::eager_async;  // as they are
  const RanksReplay out = replay_ranks({slow.trace, rank_that_waits(85, 1).trace}, o);
  for (const Replay& one : out.replays) {
    const Result& r = one.prediction.result;
    ASSERT_TRUE(r.speed_up);
    EXPECT_NEAR(r.speed_up->value, 1, 1e-9);
    EXPECT_NEAR(r.trace.unprofiled_step_us, r.step.time_us, 1e-9);
  }
}

TEST(Ranks, LossesOfAllRanksAreSaidAndWhoseTheyAre) {
  Trace a = rank_that_waits(70, 0).trace, b = rank_that_waits(45, 1).trace;
  a.path = "a.json", b.path = "b.json";
  a.losses.add("clipped", Severity::warning, "in both", 2);
  b.losses.add("clipped", Severity::warning, "in both", 3);
  b.losses.add("negative_duration", Severity::data_loss, "dropped");
  a.devices = {{.name = "NVIDIA H200"}};
  b.devices = {{.name = "NVIDIA A100-SXM4-80GB"}};
  ReplayOptions o;
  o.configs = source_path("configs");
  const RanksReplay out = replay_ranks({b, a}, o);
  const LossList& losses = out.replays.front().prediction.result.losses;
  EXPECT_TRUE(losses.any(Severity::data_loss));
  EXPECT_EQ(losses.count("clipped"), 5);
  EXPECT_EQ(losses.count("ranks_on_other_gpus"), 1);
  const auto said = [&](std::string_view code) {
    for (const Loss& loss : losses.all()) {
      if (loss.code == code) return loss.description;
    }
    return std::string();
  };
  EXPECT_EQ(said("clipped"), "in both");
  EXPECT_EQ(said("negative_duration"), "dropped; in b.json (rank 1)");
}

/// Two collectives of one kind, one after the other, of the groups `first` and `second`.
TraceMaker rank_of_groups(int rank, const std::string& first, const std::string& second) {
  TraceMaker m = rank_that_waits(10, rank);
  m.launch(30, 5, 2);
  m.kernel(40, 10, 2, 0, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()");
  m.trace.collectives.push_back(m.trace.collectives.front());
  m.trace.collectives[0].group = first;
  m.trace.collectives[1].group = second;
  m.trace.activities.collective[1] = CollectiveId(std::size_t{1});
  return m;
}

TEST(Ranks, CollectivesInOppositeOrdersWaitForEver) {
  const TraceMaker a = rank_of_groups(0, "0", "1"), b = rank_of_groups(1, "1", "0");
  test::PlanBuilder both;
  both.marker(ItemKind::step_begin);
  both.launch(20, 1, {.us = 10, .engine = DeviceEngine::collective});
  both.launch(1, 1, {.us = 10, .engine = DeviceEngine::collective});
  both.plan.works[1].source = 1;
  both.sync(0, 1, 1, 1);
  both.marker(ItemKind::step_end);
  const std::vector<RankStep> steps{{a.trace, "a", 0, both.plan}, {b.trace, "b", 1, both.plan}};
  try {
    simulate_ranks(steps, test::round_host());
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "b:collectives: found an order in which the ranks wait for each other for ever, "
                 "expected traces of the ranks of one run");
  }
}

TEST(Ranks, MoreStreamsThanAPlanTellsApartAreAnError) {
  const TraceMaker a = rank_that_waits(10, 0), b = rank_that_waits(10, 1);
  Plan wide = step_of(20);
  wide.streams.resize(40'000);
  const std::vector<RankStep> steps{{a.trace, "a", 0, wide}, {b.trace, "b", 1, wide}};
  EXPECT_THROW(simulate_ranks(steps, test::round_host()), InputError);
}

}  // namespace
}  // namespace tandem

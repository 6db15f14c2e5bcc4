// Steps that ranks divide otherwise than by their gradients: sharded parameters, norms over all
// ranks, activations that they exchange. Times in microseconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/whatif/edit/collectives.h"
#include "models/whatif/ranks/alone.h"
#include "models/whatif/ranks/shards.h"
#include "sim/predict/predict.h"
#include "sim/trace/import.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/replay_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::as_traced;
using test::TraceMaker;

/// One step of a rank of two, operation by operation.
class DividedStep {
 public:
  DividedStep() { maker_.step(0, 0, 2000); }

  /// `us` on the GPU.
  std::uint32_t op(std::string_view name, const std::string& dims, double us,
                   std::string_view kernel = "k") {
    const double begin = next();
    const std::uint32_t row = maker_.op(name, begin, 10);
    maker_.operands(row, {dims, R"(["float", "float"])", "", ""});
    launch(begin + 2, us, kernel);
    return row;
  }
  void exchange(std::string_view name, const std::string& dims, CollectiveKind kind,
                std::int64_t in_bytes, std::int64_t out_bytes) {
    op(name, dims, 20, "ncclDevKernel");
    Collective c;
    c.kind = kind, c.in_bytes = in_bytes, c.out_bytes = out_bytes, c.ranks = 2;
    Trace& trace = maker_.trace;
    trace.activities.bytes[trace.activities.size() - 1] = in_bytes;
    trace.activities.collective[trace.activities.size() - 1] =
        CollectiveId{trace.collectives.size()};
    trace.collectives.push_back(c);
  }
  /// A launch of the program's own.
  void launch(double begin, double us, std::string_view kernel) {
    maker_.launch(begin, 5, ++launches_);
    const std::uint32_t k = maker_.kernel(maker_now(begin), us, launches_, 0, kernel);
    maker_.trace.activities.geometry[k] = GeometryId{maker_.trace.geometries.size()};
    maker_.trace.geometries.push_back({{40, 1, 1}, {512, 1, 1}, 32, 0});
    gpu_free_ = maker_now(begin) + us;
  }
  double next() { return now_ += 20; }
  TraceMaker& maker() { return maker_; }
  Step step() const { return analyse(maker_.trace, as_traced()).traced_step; }

 private:
  double maker_now(double begin) const { return std::max(begin + 6, gpu_free_); }
  TraceMaker maker_;
  double now_ = 0, gpu_free_ = 0;
  std::int64_t launches_ = 0;
};

/// Parameters of 4 MiB that two ranks keep in halves: gathered, used, their gradient scattered, the
/// half of 2 MiB updated.
DividedStep sharded() {
  DividedStep s;
  const std::uint32_t gather = s.maker().note("FSDP::all_gather (layers.0)", s.next(), 55);
  EXPECT_EQ(gather, 1U);
  s.maker().trace.annotations.mark[gather] = AnnotationMark::sharding;
  s.op("fsdp::all_gather_copy_in", "[[524288]]", 10);
  s.exchange("c10d::_allgather_base_", "[[1048576], [524288]]", CollectiveKind::all_gather, 2 << 20,
             4 << 20);
  s.op("aten::mm", "[[1024, 1024], [1024, 1024]]", 50);
  s.exchange("c10d::_reduce_scatter_base_", "[[524288], [1048576]]", CollectiveKind::reduce_scatter,
             4 << 20, 2 << 20);
  s.maker().operands(s.maker().op("torch::autograd::AccumulateGrad", s.next(), 5),
                     {"[[1024, 1024]]", R"(["float"])", "", ""});
  s.op("aten::_foreach_mul_", "[[524288]]", 12, "multi_tensor_apply_kernel");
  return s;
}

// 12 are 2 of a floor and 10 of the half; a quarter takes 2 + 5.
TEST(Divided, APartFollowsTheNumberOfRanks) {
  std::int64_t kernels = 0;
  const Step traced = sharded().step();
  const ShardedParameters held = sharded_parameters(traced.trace, traced.links);
  ASSERT_EQ(held.ranks, 2);
  const Step step = with_shards(traced, held, 4, 2, 5, kernels);
  EXPECT_EQ(kernels, 1);
  const std::uint32_t update = step.plan.works.back().source;
  EXPECT_EQ(step.trace.activities.duration[update], from_us(7));
  EXPECT_EQ(step.trace.geometries[step.trace.activities.geometry[update].index()].grid[0], 20U);
  const OpTensors& tensors = operands_of(step.trace, step.trace.ops.size() - 1).tensors;
  EXPECT_EQ(tensors.shapes.at(0).dims[0], 262144);
  // What is gathered stays, of halves that are now quarters.
  const OpTensors& gather = operands_of(step.trace, 1).tensors;
  EXPECT_EQ(gather.shapes.at(0).dims[0], 1048576);
  EXPECT_EQ(gather.shapes.at(1).dims[0], 262144);
}

// Gathers and scatters vanish with what the framework does around them, and the update is of all.
TEST(Divided, AloneNothingIsGathered) {
  ReplayOptions o = as_traced();
  o.what_ifs.set("ranks", 1);
  const Result alone = replay(sharded().maker().trace, o).prediction.result;
  const TransformReport* const ranks = find_report(alone.what_ifs, "ranks");
  EXPECT_EQ(report_number(ranks, "dropped", 0), 3);
  EXPECT_EQ(report_number(ranks, "resized", 0), 1);
  EXPECT_FALSE(alone.collectives.has_value());
}

// A rank of more holds less: the peak falls, its parts add up to it, and its tensors stay.
TEST(Divided, MoreRanksHoldLessEach) {
  const std::string captures =
      source_path("validation/captures/h200_2026-11-22_ranks2_fit/traces/");
  ReplayOptions o = as_traced();
  double before = 0;
  int seen = 0;
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    o.what_ifs.set("ranks", ranks);
    const Result r =
        replay(import_trace(captures + "llama_4l-train-bf16-eager-b4-fsdp-w2.rank0.json.zst"), o)
            .prediction.result;
    ASSERT_TRUE(r.memory.has_value()) << ranks;
    const MemorySummary& m = *r.memory;
    if (before > 0) {
      EXPECT_LT(m.peak_bytes, 0.95 * before) << ranks;
    }
    before = m.peak_bytes;
    EXPECT_DOUBLE_EQ(m.kept.sum() + m.tensors_bytes(), m.peak_bytes) << ranks;
    // Two states of 505,956,352 parameters in FP32.
    EXPECT_NEAR(m.kept.states, 2 * 4.0 * 505956352 / static_cast<double>(ranks), 1e6) << ranks;
    ++seen;
  }
  EXPECT_EQ(seen, 4);
}

// A norm over all ranks: alone its statistics are of the batch, and only what computes with the
// batch is left.
TEST(Divided, NormsOverAllRanksAreNormsOfABatch) {
  DividedStep s;
  s.op("aten::relu", "[[4, 8, 16, 16]]", 5);
  const double begin = s.next();
  s.maker().operands(s.maker().op("SyncBatchNorm", begin, 200),
                     {"[[4, 8, 16, 16], [8], [8], [8], [8]]", R"(["float"])", "", ""});
  s.op("aten::batch_norm_stats", "[[4, 8, 16, 16]]", 5);
  s.op("aten::cat", "[[[8], [8], [1]]]", 5);
  s.exchange("c10d::_allgather_base_", "[[1, 34], [17]]", CollectiveKind::all_gather, 68, 136);
  s.op("aten::index", "[[2, 17]]", 5);
  s.op("aten::batch_norm_elemt", "[[4, 8, 16, 16], [8], [8], [8], [8]]", 5);
  AloneReport report;
  const Step step = without_collectives(s.step(), 5, report);
  EXPECT_EQ(report.dropped, 3);
  EXPECT_EQ(step.plan.works.size(), 3U);
}

DividedStep exchanging() {
  DividedStep s;
  s.exchange("_c10d_functional::all_reduce", "[[4, 128, 64]]", CollectiveKind::all_reduce, 131072,
             131072);
  s.exchange("c10d::allreduce_", "[[[262144]]]", CollectiveKind::all_reduce, 1 << 20, 1 << 20);
  s.exchange("c10d::send", "[[[2, 128, 64]]]", CollectiveKind::point_to_point, 65536, 65536);
  const std::uint32_t update = s.maker().note("Optimizer.step#AdamW.step", s.next(), 40);
  EXPECT_EQ(update, 1U);
  s.exchange("c10d::broadcast_", "[[[64, 64]]]", CollectiveKind::broadcast, 16384, 16384);
  return s;
}

// Of a tensor of three dimensions and between two ranks; a bucket of gradients and the parameters
// that an optimizer sends (ZeRO) are none.
TEST(Divided, ActivationsAreExchangedAsTheyAre) {
  EXPECT_EQ(exchanges_activations(exchanging().step()),
            (std::vector<bool>{true, false, true, false}));
}

// 128 KiB and 64 KiB of activations double, 1 MiB of gradients and 16 KiB of parameters stay.
TEST(Divided, ActivationsFollowTheBatch) {
  ReplayOptions o = as_traced();
  o.traced_batch = 4;
  const auto bytes = [&](std::int64_t batch) {
    o.what_ifs.set("batch", batch);
    DividedStep s = exchanging();
    s.op("aten::relu", "[[4, 128, 64]]", 5);
    return replay(s.maker().trace, o).prediction.result.collectives->bytes;
  };
  const std::int64_t kib = 1024;
  EXPECT_EQ(bytes(4), (128 + 1024 + 64 + 16) * kib);
  EXPECT_EQ(bytes(8), (256 + 1024 + 128 + 16) * kib);
}

TEST(Divided, OtherRanksOfTensorParallelismAreNotKnown) {
  ReplayOptions o = as_traced();
  o.what_ifs.set("ranks", 4);
  const Result result = replay(exchanging().maker().trace, o).prediction.result;
  EXPECT_EQ(result.losses.count("activations_between_ranks"), 2);
}

}  // namespace
}  // namespace tandem

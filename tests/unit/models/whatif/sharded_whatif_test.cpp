// One rank of several that each keep a part of the parameters, from a step that trained alone.
// Times in microseconds.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/step/memory/sharded_parameters.h"
#include "models/whatif/edit/repeated_layers.h"
#include "models/whatif/ranks/fully_sharded.h"
#include "models/whatif/ranks/shard_units.h"
#include "sim/engine/engine.h"
#include "sim/engine/plan_check.h"
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

using Shapes = std::vector<std::vector<std::int64_t>>;

/// Each of `layer`, so often.
Shapes repeated(const Shapes& layer, int count) {
  Shapes out;
  for (int k = 0; k < count; ++k) out.insert(out.end(), layer.begin(), layer.end());
  return out;
}

Shapes joined(const std::vector<Shapes>& parts) {
  Shapes out;
  for (const Shapes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

const Shapes table{{1000, 8}}, norm{{8}};
const Shapes block{{8}, {8, 8}, {32, 8}, {8, 32}};

// A table, three blocks of four, and a norm that a fourth block would begin with.
TEST(RepeatedLayers, AreTheLongestStretchThatRepeatsItself) {
  const auto stacks = repeated_layers(joined({table, repeated(block, 3), norm}));
  ASSERT_EQ(stacks.size(), 1U);
  EXPECT_EQ(stacks[0].first, 1U);
  EXPECT_EQ(stacks[0].period, 4U);
  EXPECT_EQ(stacks[0].count, 3U);
}

// Six blocks of four, then four of six: both are found, in the order of the parameters.
TEST(RepeatedLayers, OfEncoderAndDecoderAreTwoStacks) {
  const Shapes decoder{{8}, {8, 8}, {8, 8}, {8}, {32, 8}, {8, 32}};
  const auto stacks =
      repeated_layers(joined({table, repeated(block, 6), table, repeated(decoder, 4), norm}));
  ASSERT_EQ(stacks.size(), 2U);
  EXPECT_EQ(stacks[0].first, 1U);
  EXPECT_EQ(stacks[0].count, 6U);
  EXPECT_EQ(stacks[1].first, 1U + 24 + 1);
  EXPECT_EQ(stacks[1].period, 6U);
  EXPECT_EQ(stacks[1].count, 4U);
}

TEST(RepeatedLayers, AreNoTablesProductsOrConvolutionsAlike) {
  EXPECT_TRUE(repeated_layers(repeated(table, 26)).empty());
  EXPECT_TRUE(repeated_layers(repeated({{8, 8}, {8}}, 5)).empty());
  EXPECT_TRUE(repeated_layers(repeated({{64, 64, 3, 3}, {64}, {64}, {64, 64, 1, 1}}, 5)).empty());
  EXPECT_TRUE(repeated_layers(repeated({{1, 8}, {8, 8}}, 5)).empty()) << "a bias is no matrix";
  EXPECT_TRUE(repeated_layers(joined({table, block, norm})).empty());
  EXPECT_TRUE(repeated_layers({}).empty());
}

/// A table of [1000, 256], two layers of a norm and two products, a head; or layers alone, without
/// `ends`. The forward pass needs the parameters with nodes 0; 1, 2, 3; 4, 5, 6; 7; the backward
/// pass goes the other way.
class SmallModel {
 public:
  explicit SmallModel(int layers = 2, bool ends = true) {
    const Shapes layer{{256}, {512, 256}, {256, 512}};
    const Shapes words = ends ? Shapes{{1000, 256}} : Shapes{},
                 head = ends ? Shapes{{10, 256}} : Shapes{};
    parameters_ = joined({words, repeated(layer, layers), head});
    maker_.step(0, 0, 100 + 60.0 * static_cast<double>(parameters_.size()));
    const auto last = static_cast<std::int64_t>(parameters_.size()) - 1;
    for (std::int64_t node = 0; node <= last; ++node) forward(node);
    for (std::int64_t node = last; node >= 0; --node) backward(node);
    const double begin = now_ += 20;
    maker_.note("Optimizer.step#AdamW.step", begin, 12);
    maker_.op("aten::_foreach_mul_", begin + 1, 10, 0, "[[[1000, 256], [256]]]");
    launch(begin + 2, 8, 0, "void multi_tensor_apply_kernel");
  }
  /// Elements times 4 bytes.
  double bytes() const {
    double elements = 0;
    for (const auto& dims : parameters_) {
      double one = 1;
      for (const std::int64_t d : dims) one *= static_cast<double>(d);
      elements += one;
    }
    return 4 * elements;
  }
  Step step() const { return analyse(maker_.trace, as_traced()).traced_step; }
  const Trace& trace() const { return maker_.trace; }
  TraceMaker& maker() { return maker_; }

 private:
  void numbered(std::uint32_t op, std::int64_t node) { maker_.trace.ops.sequence[op] = node; }

  void launch(double begin, double us, std::size_t thread, std::string_view kernel) {
    maker_.launch(begin, 5, ++launches_, thread);
    gpu_free_ = std::max(gpu_free_, begin + 6) + us;
    const std::uint32_t row = maker_.kernel(gpu_free_ - us, us, launches_, 0, kernel);
    maker_.trace.activities.geometry[row] = GeometryId{maker_.trace.geometries.size()};
    maker_.trace.geometries.push_back({{80, 1, 1}, {512, 1, 1}, 32, 0});
  }

  void forward(std::int64_t node) {
    const double begin = now_ += 20;
    numbered(maker_.op("aten::linear", begin, 12), node);
    launch(begin + 2, 10, 0, "gemm");
  }

  void backward(std::int64_t node) {
    const double begin = now_ += 20;
    const std::string name = "autograd::engine::evaluate_function: MmBackward0";
    numbered(maker_.op(name, begin, 12, 1), node);
    launch(begin + 2, 20, 1, "gemm");
    std::string dims;
    for (const std::int64_t d : parameters_[static_cast<std::size_t>(node)]) {
      dims += (dims.empty() ? "" : ", ") + std::to_string(d);
    }
    maker_.operands(maker_.op("torch::autograd::AccumulateGrad", begin + 13, 2, 1),
                    {"[[" + dims + "]]", R"(["float"])", "", ""});
  }

  TraceMaker maker_;
  Shapes parameters_;
  double now_ = 0, gpu_free_ = 0;
  std::int64_t launches_ = 0;
};

struct ShardBench {
  Configs configs = load_configs(source_path("configs"), "default");
  const GpuArch& gpu() const { return find_gpu(configs.gpus, "h200_sxm"); }
  FullyShardedReport report;
  Step sharded(Step step, int ranks) {
    return with_full_sharding(std::move(step),
                              {ranks, gpu(), configs.collectives, configs.time, configs.libraries,
                               configs.host, configs.fusion.host},
                              report);
  }
};

// A layer has 256 + 2 x 131072 elements, 4 bytes each, and half of it is a part of two. Of the root
// [1000, 256] and [10, 256]. Works 0 to 7 go forward, 8 to 15 backward.
TEST(Sharded, UnitsAreLayersAndTheRoot) {
  const Step step = SmallModel().step();
  const OpNesting nesting = nest_ops(step.trace, step.links);
  const auto gradients = gradients_of(step, nesting);
  ASSERT_EQ(gradients.size(), 8U);
  EXPECT_EQ(gradients.front().node, 7);
  const ShardUnits units = shard_units(step, gradients, 2);
  ASSERT_EQ(units.layers.size(), 2U);
  for (const ShardUnit& layer : units.layers) {
    EXPECT_EQ(layer.parameters, 3);
    EXPECT_EQ(layer.part_bytes, 4.0 * (256 + 2 * 131072) / 2);
  }
  EXPECT_EQ(units.root.parameters, 2);
  EXPECT_EQ(units.root.part_bytes, 4.0 * 256 * (1000 + 10) / 2);
  EXPECT_EQ(units.root.forward, 0U);
  EXPECT_EQ(units.layers[0].forward, 1U);
  EXPECT_EQ(units.layers[1].forward, 4U);
  EXPECT_EQ(units.root.backward, 8U);
  EXPECT_EQ(units.layers[1].backward, 9U);  // behind the head's
  EXPECT_EQ(units.layers[1].gradients, 11U);
  EXPECT_EQ(units.layers[0].backward, 12U);
  EXPECT_EQ(units.layers[0].gradients, 14U);
  EXPECT_EQ(units.root.gradients, 15U);
}

// Three ranks: 1000 rows are 334 each, 256 are 86, 512 are 171, 10 are 4.
TEST(Sharded, PartsArePaddedToBeEqual) {
  const Step step = SmallModel().step();
  const auto gradients = gradients_of(step, nest_ops(step.trace, step.links));
  const ShardUnits units = shard_units(step, gradients, 3);
  EXPECT_NEAR(units.layers[0].part_bytes, 4.0 * (86 + 171 * 256 + 86 * 512), 1e-6);
  EXPECT_NEAR(units.root.part_bytes, 4.0 * 256 * (334 + 4), 1e-6);
}

std::vector<std::uint32_t> works_of(const Step& step, CollectiveKind kind) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t w = 0; w < step.plan.works.size(); ++w) {
    const Collective* const c = collective_of(step.trace, step.plan.works[w].source);
    if (c != nullptr && c->kind == kind) out.push_back(w);
  }
  return out;
}

// The root once, each of two layers twice: 5 gathers with a copy before and behind, 3 scatters with
// a copy before. The update of 8 is 2 of a floor or so and the half of the rest.
TEST(Sharded, LayersAreGatheredTwiceAndTheRootOnce) {
  ShardBench bench;
  const Step alone = SmallModel().step();
  const Step step = bench.sharded(alone, 2);
  EXPECT_EQ(bench.report.units, 3);
  EXPECT_EQ(bench.report.gathers, 5);
  EXPECT_EQ(bench.report.resized, 1);
  const double layer = 4.0 * (256 + 2 * 131072), root = 4.0 * 256 * 1010;
  EXPECT_EQ(bench.report.gathered_bytes, root + 4 * layer);
  EXPECT_EQ(step.plan.works.size(), alone.plan.works.size() + 5 * 3 + 3 * 2);
  const auto gathers = works_of(step, CollectiveKind::all_gather);
  const auto scatters = works_of(step, CollectiveKind::reduce_scatter);
  ASSERT_EQ(gathers.size(), 5U);
  ASSERT_EQ(scatters.size(), 3U);
  const Collective& first = *collective_of(step.trace, step.plan.works[gathers[0]].source);
  EXPECT_EQ(static_cast<double>(first.out_bytes), root);
  EXPECT_EQ(first.in_bytes * 2, first.out_bytes);
  EXPECT_EQ(first.ranks, 2);
  const Collective& last = *collective_of(step.trace, step.plan.works[scatters[2]].source);
  EXPECT_EQ(static_cast<double>(last.in_bytes), root);
  EXPECT_LT(step.plan.works.back().duration, from_us(8));
  EXPECT_GE(step.plan.works.back().duration, from_us(4));
}

// What copies, gathers and scatters has a stream each, and waits as PyTorch's events do.
TEST(Sharded, GathersRunBesideWhatComputesAndScattersBehindIt) {
  ShardBench bench;
  const Step step = bench.sharded(SmallModel().step(), 2);
  const Plan& plan = step.plan;
  const Timeline t = simulate(repeat(plan, 1, bench.configs.host));
  const auto gathers = works_of(step, CollectiveKind::all_gather);
  const auto scatters = works_of(step, CollectiveKind::reduce_scatter);
  const std::uint16_t computes = plan.works.back().stream;
  EXPECT_NE(plan.works[gathers[0]].stream, computes);
  EXPECT_NE(plan.works[scatters[0]].stream, computes);
  EXPECT_NE(plan.works[scatters[0]].stream, plan.works[gathers[0]].stream);
  for (const std::uint32_t g : gathers) {
    EXPECT_NE(plan.works[g - 1].stream, plan.works[g].stream);
    EXPECT_NE(plan.works[g - 1].stream, computes);
    EXPECT_GE(t.work_begin[g], t.work_end[g - 1]) << "its copy in";
    EXPECT_EQ(plan.works[g].engine, DeviceEngine::collective);
  }
  // Forward the copy out is issued next; backward a layer's is issued before the gather of the one
  // before it.
  for (int k = 0; k < 3; ++k) EXPECT_GE(t.work_begin[gathers[k] + 1], t.work_end[gathers[k]]);
  for (const std::uint32_t s : scatters) EXPECT_GE(t.work_begin[s], t.work_end[s - 1]);
  EXPECT_GE(t.work_begin[scatters[1] - 1], t.work_end[scatters[0]]);
  EXPECT_GE(t.work_begin[plan.works.size() - 1], t.work_end[scatters[2]]) << "the update";
}

// As sharded traces are read: the root stays whole, of the layers one is and one is on its way; of
// their gradients a rank keeps a half, and all of the root's.
TEST(Sharded, MemoryIsReadOffWhatIsGathered) {
  ShardBench bench;
  const SmallModel model;
  const Step step = bench.sharded(model.step(), 2);
  const ShardedParameters held = sharded_parameters(step.trace, step.links);
  const double layer = 4.0 * (256 + 2 * 131072), root = 4.0 * 256 * 1010;
  EXPECT_EQ(held.ranks, 2);
  EXPECT_EQ(held.gathered_bytes, root + 2 * layer);
  EXPECT_NEAR(held.gradient_share, (root + layer) / (root + 2 * layer), 1e-9);
  EXPECT_NEAR(model.bytes(), root + 2 * layer, 1e-9);
}

// Two layers and nothing else: no root is gathered.
TEST(Sharded, ARootWithoutParametersIsNotGathered) {
  ShardBench bench;
  const Step step = bench.sharded(SmallModel(2, false).step(), 2);
  EXPECT_EQ(bench.report.units, 2);
  EXPECT_EQ(bench.report.gathers, 4);
  EXPECT_EQ(works_of(step, CollectiveKind::reduce_scatter).size(), 2U);
  check_plan(repeat(step.plan, 2, bench.configs.host));
}

// One layer repeats nothing.
TEST(Sharded, AModelWithoutLayersIsOneUnit) {
  ReplayOptions o = as_traced();
  o.what_ifs.set("ranks", 2);
  o.what_ifs.set("shard", asks_for_flag);
  const Result one = replay(SmallModel(1).trace(), o).prediction.result;
  EXPECT_EQ(report_number(find_report(one.what_ifs, "ranks"), "units", 0), 1);
  EXPECT_EQ(report_number(find_report(one.what_ifs, "ranks"), "gathers", 0), 1);
  EXPECT_EQ(one.losses.count("sharded_as_one"), 1);
  const Result two = replay(SmallModel(2).trace(), o).prediction.result;
  EXPECT_EQ(report_number(find_report(two.what_ifs, "ranks"), "units", 0), 3);
  EXPECT_EQ(two.losses.count("sharded_as_one"), 0);
}

/// Of a step that trained alone.
Trace capture(const std::string& name) {
  return import_trace(source_path("validation/captures/" + name + ".json.zst"));
}

/// Of four layers, on an H200.
Trace llama() { return capture("h200_2026-11-22_compile_fit/traces/llama_4l-train-bf16-eager-b4"); }

// Adapters train beside layers that do not: those are not told by gradients.
TEST(Sharded, WhatIsFrozenStaysWhole) {
  ReplayOptions o = as_traced();
  o.what_ifs.set("ranks", 2);
  o.what_ifs.set("shard", asks_for_flag);
  const auto frozen = [&](const Trace& trace) {
    return replay(trace, o).prediction.result.losses.count("frozen_not_sharded");
  };
  EXPECT_EQ(frozen(capture("h200_2026-11-27_tenth_holdout/traces/"
                           "adapted_llama-train-fp32-eager-b32")),
            1);
  EXPECT_EQ(frozen(llama()), 0);
}

std::string error_of(const Trace& trace, std::string_view ranks, std::string_view compiler = {}) {
  ReplayOptions o = as_traced();
  o.what_ifs.set("ranks", ranks);
  o.what_ifs.set("shard", asks_for_flag);
  o.what_ifs.set("compile", compiler);
  try {
    replay(trace, o);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

bool has_text(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Sharded, SaysWhatCannotBeSharded) {
  const SmallModel model;
  WhatIfs alone;
  alone.set("shard", asks_for_flag);
  EXPECT_THROW(check_asked(alone, Mode::as_traced), InputError);
  EXPECT_TRUE(has_text(error_of(model.trace(), "1"), "--ranks 2 or more"));
  EXPECT_TRUE(has_text(error_of(model.trace(), "9"), "1 to 8"));
  EXPECT_TRUE(has_text(error_of(llama(), "2", "inductor"), "an eager step"));
  TraceMaker inference;
  inference.step(0, 0, 100);
  inference.launch(10, 5, 1);
  inference.kernel(20, 8, 1);
  EXPECT_TRUE(has_text(error_of(inference.trace, "2"), "no gradient whose shape was recorded"));
  SmallModel meets;
  Collective c;
  c.kind = CollectiveKind::all_reduce, c.in_bytes = c.out_bytes = 4, c.ranks = 2;
  meets.maker().trace.collectives.push_back(c);
  meets.maker().trace.activities.collective[0] = CollectiveId{0};
  EXPECT_TRUE(has_text(error_of(meets.trace(), "2"), "a step of 2 ranks"));
  const Trace sparse = capture("h100_2026-11-23_second_holdout/traces/dlrm-train-fp32-eager-b8192");
  EXPECT_TRUE(has_text(error_of(sparse, "2"), "sparse gradients"));
  const Trace accumulated = capture(
      "h200_2026-11-28_divided_holdout/traces/roberta-train-amp-eager-b32-accumulated-w1.rank0");
  EXPECT_TRUE(has_text(error_of(accumulated, "2"), "gradients of several passes"));
}

// Each rank keeps a part: states fall with the number of ranks, the peak as well, and what is
// gathered does not.
TEST(Sharded, MoreRanksHoldLessAndGatherAsMuch) {
  ReplayOptions o = as_traced();
  const Result alone = replay(llama(), o).prediction.result;
  double before = alone.memory->peak_bytes;
  o.what_ifs.set("shard", asks_for_flag);
  for (const std::int64_t ranks : {2, 4, 8}) {
    o.what_ifs.set("ranks", ranks);
    const Result r = replay(llama(), o).prediction.result;
    const MemorySummary& m = *r.memory;
    EXPECT_LT(m.peak_bytes, 0.96 * before) << ranks;
    before = m.peak_bytes;
    EXPECT_DOUBLE_EQ(m.kept.sum() + m.tensors_bytes(), m.peak_bytes) << ranks;
    // Two states of 505,956,352 parameters in FP32.
    EXPECT_NEAR(m.kept.states, 2 * 4.0 * 505956352 / static_cast<double>(ranks), 1e6) << ranks;
    EXPECT_EQ(m.kept.buckets, 0) << ranks;
    // As in the trace of two sharded ranks: 262,670,336 elements of the root, and twice four layers
    // of 60,821,504.
    const TransformReport* const report = find_report(r.what_ifs, "ranks");
    EXPECT_EQ(report_number(report, "gathered_bytes", 0), 4.0 * (262670336 + 8.0 * 60821504));
    EXPECT_EQ(report_number(report, "units", 0), 5) << ranks;
  }
}

}  // namespace
}  // namespace tandem

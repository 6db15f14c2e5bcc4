// What holds for every step that is compiled, on a measured training step.
#include <gtest/gtest.h>

#include "models/whatif/compile/groups.h"
#include "models/whatif/compile/recomputed.h"
#include "sim/predict/predict.h"
#include "sim/predict/scenario.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string trace_file = source_path(
    "validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst");

const TracedRun& analysis() {
  static const TracedRun a = [] {
    ReplayOptions o;
    o.configs = source_path("configs");
    return analyse(import_trace(trace_file), o);
  }();
  return a;
}

Scenario compile(const std::string& compiler) {
  ReplayOptions o;
  o.what_ifs.set("compile", compiler);
  return make_scenario(analysis(), nullptr, o);
}

double number(const Scenario& s, std::string_view name) {
  return report_number(find_report(s.what_ifs, "compile"), name, -1);
}

// What is computed again for others is part of their groups, too.
TEST(FuseProperty, EveryOperationHasOneRoleAndOneGroup) {
  const Step& step = analysis().traced_step;
  const Dataflow flow = dataflow(step);
  const FusionPlan plan = plan_fusion(step, flow, graph_cuts(step, flow), false);
  ASSERT_EQ(plan.roles.size(), flow.ops.size());
  ASSERT_GT(plan.groups.size(), 100U);
  std::vector<int> groups(flow.ops.size(), 0);
  for (const FusionGroup& group : plan.groups) {
    ASSERT_FALSE(group.ops.empty());
    EXPECT_TRUE(std::is_sorted(group.ops.begin(), group.ops.end()));
    for (const std::uint32_t i : group.ops) {
      ++groups[i];
      EXPECT_EQ(flow.ops[i].phase, group.phase);
    }
  }
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    const FuseRole role = plan.roles[i];
    const bool grouped =
        role != FuseRole::outside && role != FuseRole::library && role != FuseRole::vanishes;
    if (grouped && repeatable(flow.ops[i], role)) {
      EXPECT_GE(groups[i], 1) << i;
    } else {
      EXPECT_EQ(groups[i], grouped ? 1 : 0) << i;
    }
  }
}

// What a compiler fuses around products leaves them their operands, casts of mixed precision among
// it. (Attention by products alone is other products: six, where fused kernels compute seven.)
TEST(FuseProperty, ProductsKeepTheirOperandsBehindAnotherPrecision) {
  const std::string captures = source_path("validation/captures/");
  for (const char* name :
       {"h200_2026-11-20_fit/traces/bert_base-train-fp32-eager-b16",
        "h200_2026-11-21_precisions_holdout/traces/gpt2-train-fp32-eager-b4",
        "h200_2026-11-21_precisions_holdout/traces/vit_b_16-train-fp32-eager-b16",
        "h200_2026-11-20_fit/traces/resnet50-train-fp32-eager-b32"}) {
    SCOPED_TRACE(name);
    ReplayOptions o;
    o.configs = source_path("configs");
    const TracedRun run = analyse(import_trace(captures + name + ".json.zst"), o);
    for (const char* precision : {"amp", "bf16"}) {
      o.what_ifs.set("compile", "none");
      o.what_ifs.set("attention", "");
      o.what_ifs.set("precision", precision);
      const double eager = predict(run, o).result.gpu_step->flops;
      o.what_ifs.set("compile", "inductor");
      o.what_ifs.set("attention", "keep");
      EXPECT_NEAR(predict(run, o).result.gpu_step->flops, eager, 1e-6 * eager) << precision;
    }
  }
}

TEST(FuseProperty, WhatAKernelReadsOfItsPhaseAnotherOneStores) {
  const Step& step = analysis().traced_step;
  const Dataflow flow = dataflow(step);
  const FusionPlan plan = plan_fusion(step, flow, graph_cuts(step, flow), false);
  std::vector<bool> stored(flow.tensors.size(), false);
  for (const FusionGroup& group : plan.groups) {
    for (const std::uint32_t t : group.writes) stored[t] = true;
  }
  std::size_t read = 0;
  for (const FusionGroup& group : plan.groups) {
    for (const std::uint32_t t : group.reads) {
      const std::uint32_t maker = flow.tensors[t].producer;
      if (maker == no_row || flow.ops[maker].phase != group.phase) continue;
      const FuseRole role = plan.roles[maker];
      if (role == FuseRole::outside || role == FuseRole::library) continue;
      EXPECT_TRUE(stored[t] || flow.ops[maker].kind == OpKind::scatter) << t;
      ++read;
    }
  }
  EXPECT_GT(read, 100U);
}

TEST(FuseProperty, EveryWorkBelongsToOneOperation) {
  const Step& step = analysis().traced_step;
  const Dataflow flow = dataflow(step);
  std::size_t works = 0;
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    for (const std::uint32_t w : flow.works_of(flow.ops[i])) {
      EXPECT_EQ(flow.op_of_work[w], i);
      ++works;
    }
    for (const FlowUse& use : flow.inputs_of(flow.ops[i])) {
      const std::uint32_t producer = flow.tensors[use.tensor].producer;
      EXPECT_TRUE(producer == no_row || producer < i);  // made before it is read
    }
  }
  EXPECT_GT(works, 800U);
}

TEST(FuseProperty, CompilingSavesBytesAndKeepsWhatItDoesNotTouch) {
  const Scenario s = compile("inductor");
  EXPECT_LT(number(s, "bytes_after"), number(s, "bytes_before"));
  EXPECT_LT(number(s, "gpu_after_us"), number(s, "gpu_before_us"));
  double optimizer = 0, before = 0;
  const auto sum = [](const Step& step) {
    double us = 0;
    for (const DeviceWork& work : step.plan.works) {
      const auto name = step.trace.strings.get(step.trace.activities.name[work.source]);
      if (name.find("multi_tensor_apply") != name.npos) us += to_us(work.duration);
    }
    return us;
  };
  optimizer = sum(s.step);
  before = sum(analysis().traced_step);
  EXPECT_GT(before, 0);
  EXPECT_DOUBLE_EQ(optimizer, before);
}

TEST(FuseProperty, TheReportAddsUp) {
  const Scenario s = compile("inductor");
  double us = 0, gpu = 0;
  for (const auto& row : find_report(s.what_ifs, "compile")->lists.at(0).rows) {
    us += std::get<double>(row.at(3).value);  // time_us
  }
  for (const DeviceWork& work : s.step.plan.works) gpu += to_us(work.duration);
  EXPECT_NEAR(gpu, number(s, "gpu_after_us"), 1e-6);
  EXPECT_EQ(number(s, "kernels_after"), static_cast<double>(s.step.plan.works.size()));
  double generated = 0;
  for (const DeviceWork& work : s.step.plan.works) {
    const auto name = s.step.trace.strings.get(s.step.trace.activities.name[work.source]);
    if (name.starts_with("triton_")) generated += to_us(work.duration);
  }
  EXPECT_NEAR(us, generated, 1e-3 * generated);
}

TEST(FuseProperty, ResultsAreReproducible) {
  const Scenario a = compile("inductor"), b = compile("inductor");
  ASSERT_EQ(a.step.plan.works.size(), b.step.plan.works.size());
  ASSERT_GT(a.step.plan.works.size(), 0U);
  for (std::size_t i = 0; i < a.step.plan.works.size(); ++i) {
    EXPECT_EQ(a.step.plan.works[i].duration, b.step.plan.works[i].duration);
  }
}

}  // namespace
}  // namespace tandem

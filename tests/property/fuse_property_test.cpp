// What holds for every step that is compiled, on a measured training step.
#include <gtest/gtest.h>

#include "models/whatif/compile/groups.h"
#include "sim/predict/predict.h"
#include "sim/predict/scenario.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string trace_file = source_path(
    "validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst");

const Analysis& analysis() {
  static const Analysis a = [] {
    ReplayOptions o;
    o.configs = source_path("configs");
    return analyse(import_trace(trace_file), o);
  }();
  return a;
}

Scenario compile(const std::string& compiler) {
  ReplayOptions o;
  o.mode.mode = Mode::jit;
  o.compiler = compiler;
  return make_scenario(analysis(), nullptr, o);
}

TEST(FuseProperty, EveryOperationHasOneRoleAndOneGroup) {
  const Step& step = analysis().traced_step;
  const Dataflow flow = dataflow(step);
  const FusionPlan plan = plan_fusion(step, flow, false);
  ASSERT_EQ(plan.roles.size(), flow.ops.size());
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
    EXPECT_EQ(groups[i], grouped ? 1 : 0) << i;
  }
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
  ASSERT_TRUE(s.jit);
  EXPECT_LT(s.jit->bytes_after, s.jit->bytes_before);
  EXPECT_LT(s.jit->gpu_after_us, s.jit->gpu_before_us);
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
  for (const FusedKernel& k : s.jit->kernels) us += k.us;
  for (const DeviceWork& work : s.step.plan.works) gpu += to_us(work.duration);
  EXPECT_NEAR(gpu, s.jit->gpu_after_us, 1e-6);
  EXPECT_EQ(s.jit->kernels_after, s.step.plan.works.size());
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
  for (std::size_t i = 0; i < a.step.plan.works.size(); ++i) {
    EXPECT_EQ(a.step.plan.works[i].duration, b.step.plan.works[i].duration);
  }
}

}  // namespace
}  // namespace tandem

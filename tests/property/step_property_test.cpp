// What must hold of the step that is cut out of every measured capture.
#include <gtest/gtest.h>

#include "models/step/attribution.h"
#include "models/step/launches.h"
#include "models/step/op_nesting.h"
#include "models/whatif/edit/step_edit.h"
#include "sim/engine/engine.h"
#include "sim/predict/predict.h"
#include "tests/captures.h"
#include "tests/configs_for_tests.h"

namespace tandem {
namespace {

void expect_kernels_of_the_trace(const TracedRun& a) {
  const Step& step = a.traced_step;
  const TraceLaunches cut(step);
  const TraceLaunches whole(a.trace, a.links, nest_ops(a.trace, a.links).of_call);
  const Attribution cut_names = attribute(step.trace, step.links);
  ASSERT_EQ(step.traced_activity.size(), step.trace.activities.size());
  for (std::uint32_t i = 0; i < step.traced_activity.size(); ++i) {
    const std::uint32_t row = step.traced_activity[i];
    const KernelLaunch one = cut.launch(i);
    const KernelLaunch same = whole.launch(row);
    ASSERT_EQ(one.name, same.name);
    EXPECT_EQ(one.op, same.op) << one.name;
    EXPECT_EQ(one.geometry, same.geometry) << one.name;
    EXPECT_EQ(one.work.matrix.m * one.work.matrix.n * one.work.matrix.k,
              same.work.matrix.m * same.work.matrix.n * same.work.matrix.k)
        << one.name << " of " << one.op;
    EXPECT_EQ(one.work.exact, same.work.exact) << one.name << " of " << one.op;
    EXPECT_EQ(cut_names.layer[i], a.attribution.layer[row]) << one.name;
    EXPECT_EQ(cut_names.op[i], a.attribution.op[row]) << one.name;
  }
}

void expect_nothing_changed(const TracedRun& a) {
  const Plan& plan = a.traced_step.plan;
  const Step same = StepEdit(a.traced_step, 4).finish();
  ASSERT_EQ(same.plan.items.size(), plan.items.size());
  ASSERT_EQ(same.plan.works.size(), plan.works.size());
  EXPECT_EQ(same.traced_activity, a.traced_step.traced_activity);
  const Timeline before = simulate(plan);
  const Timeline after = simulate(same.plan);
  EXPECT_EQ(before.item_end, after.item_end);
  EXPECT_EQ(before.work_end, after.work_end);
}

// One test, for reading the captures takes longer than what is checked of them.
TEST(StepProperty, ACutStepIsTheTracesAndAnEditWithoutChangesChangesNothing) {
  std::size_t cases = 0;
  for (const std::string& path : test::captures(120)) {
    SCOPED_TRACE(path);
    const TracedRun run = analyse(import_trace(path), {}, test::configs());
    expect_kernels_of_the_trace(run);
    expect_nothing_changed(run);
    ++cases;
  }
  EXPECT_GE(cases, 16U);
}

}  // namespace
}  // namespace tandem

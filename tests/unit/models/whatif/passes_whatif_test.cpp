// Steps of more and of fewer passes to one update, from a product and a tanh with their gradients.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "models/whatif/edit/rearranged.h"
#include "models/whatif/passes/accumulated.h"
#include "models/whatif/passes/traced_passes.h"
#include "sim/predict/configs.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;

constexpr std::string_view lone_float = R"(["float"])", pair_of_floats = R"(["float","float"])";
const std::string engine = "autograd::engine::evaluate_function: ";

/// Works 0 product and 1 tanh on thread 0, on thread 1 works 2 and 3, their gradients; then the
/// gradient is stored and work 4 is the update.
Step one_pass() {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::linear", "[[8,64],[64,64]]", pair_of_floats);
  m.sequence = 2;
  m.op("aten::tanh", "[[8,64]]", lone_float);
  m.thread = 1;
  m.op(engine + "TanhBackward0>aten::tanh_backward", "[[8,64],[8,64]]", pair_of_floats);
  m.sequence = 1;
  m.op(engine + "MmBackward0>aten::mm", "[[64,8],[8,64]]", pair_of_floats);
  m.sequence = -1;
  m.idle("torch::autograd::AccumulateGrad", "[[64,64]]", lone_float);
  m.thread = 0;
  m.op("aten::_foreach_add_", "[]", "[]");
  return m.step();
}

struct PassesBench {
  Configs configs = load_configs(source_path("configs"), "default");
  PassesReport report;
  Step with(Step step, std::int64_t passes) {
    const GpuArch& gpu = find_gpu(configs.gpus, "h200_sxm");
    return with_passes(std::move(step),
                       {passes, gpu, configs.time, configs.libraries, configs.host}, report);
  }
};

std::vector<std::int64_t> sequences(const Step& step) {
  std::vector<std::int64_t> out;
  for (const FlowOp& op : dataflow(step).ops) out.push_back(op.sequence);
  return out;
}

// Four works once more and the sum of the one gradient, which has no number: 5 + 4 + 1. Numbers of
// the copy begin behind the last one, 2.
TEST(PassesWhatIf, TheSecondPassAddsItsGradients) {
  PassesBench bench;
  const Step step = bench.with(one_pass(), 2);
  EXPECT_EQ(bench.report.from, 1);
  EXPECT_EQ(bench.report.added, 1);
  EXPECT_GT(bench.report.added_us, 0);
  ASSERT_EQ(step.plan.works.size(), 10U);
  const Dataflow flow = dataflow(step);
  EXPECT_EQ(flow.passes(), 2U);
  EXPECT_EQ(sequences(step), (std::vector<std::int64_t>{1, 2, 2, 1, 3, 4, 4, 3, -1, -1}));
  // The sum lies in the node that stores the gradient, and adds what the pass made.
  const std::uint32_t sum = flow.ops[8].op;
  EXPECT_EQ(text_of(step.trace, step.trace.ops.name[sum]), "aten::add_");
  const std::uint32_t node = flow.nesting.parent[sum];
  ASSERT_NE(node, no_row);
  EXPECT_EQ(text_of(step.trace, step.trace.ops.name[node]), "torch::autograd::AccumulateGrad");
  EXPECT_EQ(operands_of(step.trace, sum).tensors.shapes.size(), 2U);
}

// The program goes on once the gradients are there.
TEST(PassesWhatIf, APassWaitsForTheGradientsOfTheOneBefore) {
  PassesBench bench;
  const Step step = bench.with(one_pass(), 3);
  ASSERT_EQ(step.plan.works.size(), 5U + 2 * 5);
  const std::vector<HostItem>& items = step.plan.items;
  for (const std::uint32_t first : {4U, 9U}) {  // the product of the second pass and of the third
    const std::uint32_t item = step.plan.works[first].item;
    ASSERT_NE(items[item].after, no_index);
    EXPECT_EQ(items[item].after, step.plan.works[first - 1].item);
    EXPECT_NE(items[item].thread, items[items[item].after].thread);
  }
  // The update waits for the last sum.
  const HostItem& update = items[step.plan.works[14].item];
  EXPECT_EQ(update.after, step.plan.works[13].item);
}

TEST(PassesWhatIf, BackAndForthAreTheSameWork) {
  PassesBench bench;
  const Step traced = one_pass();
  const Step back = bench.with(bench.with(traced, 3), 1);
  EXPECT_EQ(bench.report.from, 3);
  EXPECT_EQ(back.plan.works.size(), traced.plan.works.size());
  EXPECT_EQ(back.plan.items.size(), traced.plan.items.size());
  EXPECT_EQ(sequences(back), sequences(traced));
  EXPECT_EQ(gpu_us(back), gpu_us(traced));
  // From two to three the second one runs again, which adds already.
  const Step two = bench.with(traced, 2);
  PassesBench further;
  EXPECT_EQ(further.with(two, 3).plan.works.size(), 15U);
  EXPECT_EQ(further.report.added, 0);
}

TEST(PassesWhatIf, TellsWhatItCannotRepeat) {
  PassesBench bench;
  FlowMaker m;
  m.op("aten::linear", "[[8,64],[64,64]]", pair_of_floats);
  try {
    bench.with(m.step(), 2);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("no backward pass"), std::string::npos) << e.what();
  }
  EXPECT_THROW(bench.with(one_pass(), 1'000'000'000), InputError);
}

/// Correlations of the calls of a step, which launch a work each.
std::set<std::int64_t> correlations(const Step& step) {
  std::set<std::int64_t> out;
  for (const std::int64_t c : step.trace.calls.correlation.span()) out.insert(c);
  return out;
}

// Works 0 and 1 run again on the thread of the gradients, before work 3.
TEST(Rearranged, PartsRunOnceMoreOnAnotherThread) {
  const Step step = one_pass();
  const auto call = [&](std::uint32_t work) {
    return step.trace.calls.begin[step.plan.items[step.plan.works[work].item].source];
  };
  const std::uint32_t at = step.plan.works[3].item;
  HostPart again{.first = step.plan.works[0].item, .end = step.plan.works[2].item};
  again.from = call(0) - microseconds(9), again.until = call(2) - microseconds(9);
  again.copy = 1, again.runs_like = at;
  const TimePoint there = call(3) - microseconds(1);
  const auto end = static_cast<std::uint32_t>(step.plan.items.size());
  const HostPart parts[] = {
      {.first = 0, .end = at, .until = there}, again, {.first = at, .end = end, .from = there}};
  const Rearranged out = rearranged(step, parts);
  ASSERT_EQ(out.step.plan.works.size(), 7U);
  EXPECT_EQ(correlations(out.step).size(), 7U);
  EXPECT_EQ(out.end_item[1] - out.first_item[1], 2U);
  EXPECT_EQ(out.shift[0], Duration::zero());
  for (const std::uint32_t work : {3U, 4U}) {
    const HostItem& item = out.step.plan.items[out.step.plan.works[work].item];
    EXPECT_EQ(item.thread, step.plan.items[at].thread);
    EXPECT_GT(out.step.trace.calls.begin[item.source], there);
    EXPECT_EQ(out.step.traced_activity[out.step.plan.works[work].source],
              step.traced_activity[step.plan.works[work - 3].source]);
  }
  // The node of the product's gradient holds them: it began before and ends as much later.
  const OpNesting nesting = nest_ops(out.step.trace, out.step.links);
  const std::uint32_t op = nesting.of_activity[out.step.plan.works[3].source];
  EXPECT_EQ(text_of(out.step.trace, out.step.trace.ops.name[outermost(nesting, op)]),
            engine + "MmBackward0");
}

}  // namespace
}  // namespace tandem

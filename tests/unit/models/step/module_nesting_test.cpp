// Which module of the program an operation belongs to.
#include "models/step/module_nesting.h"

#include <gtest/gtest.h>

#include "sim/trace/links.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

void add_module(TraceMaker& m, std::string_view name, double begin_us, double us) {
  ModuleCalls& modules = m.trace.modules;
  modules.begin.push_back(TimePoint{from_us(begin_us)});
  modules.duration.push_back(from_us(us));
  modules.thread.push_back(ThreadId{std::size_t{0}});
  modules.name.push_back(m.trace.strings.intern(name));
}

/// Net_0 around Conv2d_0 and Linear_0; the backward pass runs on another thread.
struct TwoLayers {
  TwoLayers() {
    outside = m.op("aten::zeros", 0, 5);
    conv = m.op("aten::conv2d", 20, 10);
    inner = m.op("aten::convolution", 22, 6);
    between = m.op("aten::relu", 45, 5);
    linear = m.op("aten::addmm", 60, 10);
    backward = m.op("ConvolutionBackward0", 200, 10, 1);
    backward_inner = m.op("aten::convolution_backward", 202, 6, 1);
    for (const std::uint32_t op : {conv, inner}) m.trace.ops.sequence[op] = 7;
    m.trace.ops.sequence[linear] = 8;
    m.trace.ops.sequence[backward] = 7;
    m.trace.ops.forward_thread[backward] = 1;
    add_module(m, "Conv2d_0", 18, 15);  // rows need not stand in order
    add_module(m, "Net_0", 10, 80);
    add_module(m, "Linear_0", 58, 20);
    m.launch(24, 2, 1);
    m.kernel(30, 5, 1);
    ops = nest_ops(m.trace, link_trace(m.trace));
    modules = nest_modules(m.trace);
  }
  std::string of(std::uint32_t op) const { return module_path(m.trace, ops, modules, op); }
  TraceMaker m;
  std::uint32_t outside, conv, inner, between, linear, backward, backward_inner;
  OpNesting ops;
  ModuleNesting modules;
};

TEST(ModuleNesting, NamesTheModulesAroundAnOperation) {
  const TwoLayers two;
  EXPECT_EQ(two.of(two.conv), "Net_0.Conv2d_0");
  EXPECT_EQ(two.of(two.inner), "Net_0.Conv2d_0");
  EXPECT_EQ(two.of(two.linear), "Net_0.Linear_0");
  EXPECT_EQ(two.of(two.between), "Net_0");  // Conv2d_0 is over
  EXPECT_EQ(two.of(two.outside), "");
  EXPECT_EQ(two.of(no_row), "");
}

TEST(ModuleNesting, GivesAGradientTheModuleOfItsForwardOperation) {
  const TwoLayers two;
  EXPECT_EQ(two.of(two.backward), "Net_0.Conv2d_0");
  EXPECT_EQ(two.of(two.backward_inner), "Net_0.Conv2d_0");  // by the node around it
}

}  // namespace
}  // namespace tandem

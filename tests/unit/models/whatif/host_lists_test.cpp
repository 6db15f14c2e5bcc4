// Rows that are taken by a list in memory of the host, under a compiler.
#include "models/whatif/compile/host/host_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;
using test::kernel_names;

constexpr std::string_view of_floats = R"(["float"])";

void take_rows(FlowMaker& m) { m.op_by_list("aten::index", "[[32,16],[]]", R"(["float",""])"); }

std::ptrdiff_t copies(const Step& step) {
  const auto names = kernel_names(step);
  return std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return name.find("HtoD") != std::string::npos;
  });
}

/// A layer, rows of its result by a list, a layer; `random`: the list is drawn on the host.
Step taken(bool random) {
  FlowMaker m;
  m.op("aten::relu", "[[32,16]]", of_floats);
  if (random) m.idle("aten::randint", "[[],[],[]]", R"(["Scalar","Scalar","ScalarList"])");
  take_rows(m);
  m.op("aten::relu", "[[8,16]]", of_floats);
  return m.step();
}

TEST(HostLists, OfConstantsAreMadeOnTheDevice) {
  CompileBench s;
  ASSERT_EQ(copies(taken(false)), 1);
  EXPECT_EQ(copies(s.compile(taken(false))), 0);
}

// Both layers are kernels of their own, the rows between them are the framework's.
TEST(HostLists, OfRandomNumbersAreCopiedForTheFramework) {
  CompileBench s;
  const Step out = s.compile(taken(true));
  EXPECT_EQ(copies(out), 1);
  EXPECT_EQ(out.plan.works.size(), 4U);
}

// The list is handed from one graph to the other, so that it stays where it is in both.
TEST(HostLists, ThatAGradientReadsAgainAreCopiedTwice) {
  FlowMaker m;
  m.sequence = 1;
  take_rows(m);
  m.sequence = 2;
  m.op("aten::relu", "[[8,16]]", of_floats);
  m.thread = 1;
  m.forward_thread = 1;
  m.op("autograd::engine::evaluate_function: ReluBackward0>aten::threshold_backward",
       "[[8,16],[8,16]]", test::two_floats);
  m.sequence = 1;
  m.op_by_list(
      "autograd::engine::evaluate_function: IndexBackward0>IndexBackward0>aten::_index_put_impl_",
      "[[32,16],[],[8,16],[],[]]", R"(["float","","float","Scalar","Scalar"])");
  CompileBench s;
  const Step eager = m.step();
  ASSERT_EQ(copies(eager), 2);
  EXPECT_EQ(copies(s.compile(eager)), 2);
}

// XLA is given the list as a constant.
TEST(HostLists, AreNoneUnderXla) {
  CompileBench s;
  EXPECT_EQ(copies(s.compile(taken(true), Compiler::xla)), 0);
}

}  // namespace
}  // namespace tandem

// What the host of an eager model asks of the device between its operations, when compiled.
#include "models/whatif/compile/host/host_reads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;

std::ptrdiff_t waiting(const Step& step) {
  return std::count_if(step.plan.items.begin(), step.plan.items.end(),
                       [](const HostItem& item) { return item.wait != WaitFor::nothing; });
}

/// A layer, a question whether a mask masks anything, a second layer; `sizes`: and a list of
/// places, whose length the device tells.
Step asking(bool between, bool sizes) {
  FlowMaker m;
  const auto layer = [&] { m.op("aten::relu", "[[256,256]]", R"(["float"])"); };
  layer();
  if (between) m.read("aten::is_nonzero>aten::item>aten::_local_scalar_dense");
  if (sizes) m.read("aten::nonzero", true);
  layer();
  if (!between) m.read("aten::item>aten::_local_scalar_dense");
  return m.step();
}

TEST(HostReads, OfACompiledModelAreGone) {
  CompileBench s;
  const Step step = asking(true, false);
  ASSERT_EQ(waiting(step), 1);
  ASSERT_EQ(step.plan.works.size(), 3U);
  const Step out = s.compile(step);
  EXPECT_EQ(waiting(out), 0);
  EXPECT_EQ(out.plan.works.size(), 1U);  // both layers in one kernel, nothing copied
}

TEST(HostReads, BehindTheModelStay) {
  CompileBench s;
  const Step out = s.compile(asking(false, false));
  EXPECT_EQ(waiting(out), 1);
  EXPECT_EQ(out.plan.works.size(), 2U);
}

// Where the device tells sizes the compiler breaks the graph, and the host goes on asking.
TEST(HostReads, OfSizesStayWithAllOthers) {
  CompileBench s;
  EXPECT_EQ(waiting(s.compile(asking(true, true))), 2);
}

}  // namespace
}  // namespace tandem

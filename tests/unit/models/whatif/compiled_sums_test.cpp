// Sums of columns and windows of gradients as generated code takes them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;

// The gradient of a bias: 512 rows of 512 columns, 1 MiB, in 4 parts that a short kernel adds up.
TEST(CompiledSums, ColumnsAreSummedAtTheRateOfMemory) {
  FlowMaker m;
  m.op("aten::sum", "[[512,512],[],[],[]]", R"(["float","ScalarList","Scalar",""])",
       R"(["","[0]","True",""])");
  CompileBench compiled;
  const Step out = compiled.compile(m.step());
  ASSERT_EQ(out.plan.works.size(), 2U);
  const GeneratedCode& code = compiled.law.generated;
  EXPECT_NEAR(to_us(out.plan.works[0].duration),
              streamed_us(compiled.gpu(), code.column_sum, 512 * 512 * 4), 1e-3);
  EXPECT_NEAR(to_us(out.plan.works[1].duration), code.short_finish_us, 1e-3);
}

// The gradient of a bias behind shifted windows: what is added up of 8192 rows of 64 columns is a
// copy of a rolled image, whose sums are not split.
TEST(CompiledSums, SumsOverRolledImagesAreNotSplit) {
  FlowMaker m;
  m.op("aten::roll", "[[2,64,64,64],[],[]]", R"(["float","ScalarList","ScalarList"])");
  m.op("aten::copy_", "[[2,64,64,64],[2,64,64,64],[]]", R"(["float","float","Scalar"])");
  m.op("aten::sum", "[[8192,64],[],[],[]]", R"(["float","ScalarList","Scalar",""])",
       R"(["","[0]","True",""])");
  CompileBench compiled;
  compiled.compile(m.step());
  const GeneratedCode& code = compiled.law.generated;
  std::size_t sums = 0;
  for (const FusedKernel& k : compiled.report.kernels) {
    if (!k.name.starts_with("triton_red")) continue;
    EXPECT_NEAR(k.us, code.reduction.floor_us + 8192 * code.rolled_row_us, 1e-3);
    ++sums;
  }
  EXPECT_EQ(sums, 1U);
}

/// The sums over windows of gradients of scores, of which a product reads 16 bits.
std::vector<double> window_sums(const std::string& side, CompileBench& compiled) {
  const std::string dims = "[1024,4," + side + "," + side + "]";
  const std::string node = "autograd::engine::evaluate_function: ";
  FlowMaker m;
  m.thread = 1;
  m.sequence = 2;
  m.op(node + "SoftmaxBackward0>SoftmaxBackward0>aten::_softmax_backward_data",
       "[" + dims + "," + dims + ",[],[]]", R"(["float","float","Scalar","Scalar"])",
       R"(["","","-1","6"])");
  m.sequence = 1;
  m.op(node + "AddBackward0>aten::sum", "[" + dims + ",[],[],[]]",
       R"(["float","ScalarList","Scalar",""])", R"(["","[0]","True",""])");
  m.op(node + "ToCopyBackward0>ToCopyBackward0>aten::to>aten::_to_copy>aten::copy_",
       "[" + dims + "," + dims + ",[]]", R"(["c10::Half","float","Scalar"])");
  compiled.compile(m.step());
  std::vector<double> us;
  for (const FusedKernel& k : compiled.report.kernels) {
    if (k.name.starts_with("triton_red")) us.push_back(k.us);
  }
  return us;
}

// 1024 windows of four heads. 64 x 64 scores: a block goes through all windows, 0.118 us each,
// where its two operands in FP32 of 67 MB each would pass in 42 us. Of 49 x 49 scores they take 27
// us.
TEST(CompiledSums, BlocksGoThroughWindowsOfAPowerOfTwo) {
  CompileBench compiled;
  const GeneratedCode& code = compiled.law.generated;
  const std::vector<double> walked = window_sums("64", compiled);
  ASSERT_EQ(walked.size(), 1U);
  EXPECT_NEAR(walked[0], code.reduction.floor_us + 1024 * code.window_row_us, 1e-3);
  const std::vector<double> shared = window_sums("49", compiled);
  ASSERT_EQ(shared.size(), 1U);
  const double bytes = 2.0 * 1024 * 4 * 49 * 49 * 4;
  EXPECT_NEAR(shared[0],
              code.reduction.floor_us + dram_us(compiled.gpu(), bytes, code.reduction.dram_share),
              0.5);
}

}  // namespace
}  // namespace tandem

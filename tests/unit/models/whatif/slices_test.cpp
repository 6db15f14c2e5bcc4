// What a generated kernel reads of a tensor that its operations take slices of.
#include "models/whatif/compile/inductor/slices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;
using test::half2;

constexpr double slice_bytes = 256 * 96 * 2.0;  // of three in a row, FP16

/// Queries, keys and values of 256 rows that one product makes.
FlowMaker product_of_three() {
  FlowMaker m;
  m.op("aten::mm", "[[256,64],[64,288]]", half2, "", "hgemm");
  return m;
}

/// Bytes of the kernel whose name holds `part`, in front of a product.
double bytes_of(FlowMaker m, std::string_view part) {
  m.strides = "";
  m.op("aten::mm", "[[256,96],[96,64]]", half2, "", "hgemm");
  CompileBench s;
  s.compile(m.step());
  for (const FusedKernel& k : s.report.kernels) {
    if (k.name.find(part) != k.name.npos) return k.bytes;
  }
  return 0;
}

// One of three is read and one is written.
TEST(Slices, OneSliceIsReadAlone) {
  FlowMaker m = product_of_three();
  m.strides = "[[288,1]]";
  m.op("aten::sigmoid", "[[256,96]]", R"(["c10::Half"])");
  EXPECT_EQ(bytes_of(m, "sigmoid"), 2 * slice_bytes);
}

// Two slices of one operation, or of operations that have nothing to do with each other, are two.
TEST(Slices, SlicesAreTakenForDifferentOnes) {
  FlowMaker m = product_of_three();
  m.strides = "[[288,1],[288,1]]";
  m.op("aten::mul", "[[256,96],[256,96]]", half2);
  EXPECT_EQ(bytes_of(m, "mul"), 3 * slice_bytes);

  m = product_of_three();
  m.strides = "[[288,1]]";
  m.op("aten::sigmoid", "[[256,96]]", R"(["c10::Half"])");
  m.strides = "[[96,1],[288,1]]";
  m.op("aten::mul", "[[256,96],[256,96]]", half2);
  EXPECT_EQ(bytes_of(m, "mul"), 3 * slice_bytes);
}

// A slice that is divided by the length of its rows is that slice: one kernel reads it once. Were
// the division of another slice, as it is where no sums lie between them, it would read two.
TEST(Slices, RowsAreScaledByTheirOwnSums) {
  FlowMaker m = product_of_three();
  m.strides = "[[288,1],[],[],[],[]]";
  m.op("aten::linalg_vector_norm", "[[256,96],[],[],[],[]]",
       R"(["c10::Half","Scalar","ScalarList","Scalar","Scalar"])",
       R"(["","2.","[-1]","True","6"])");
  m.strides = "[[288,1],[1,0]]";
  m.op("aten::div", "[[256,96],[256,96]]", R"(["c10::Half","float"])");
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  std::vector<std::uint32_t> same(flow.tensors.size());
  std::iota(same.begin(), same.end(), 0U);
  const std::vector<std::uint32_t> ops{1, 2};
  const std::uint32_t product = flow.outputs_of(flow.ops[0]).front();
  const auto read = [&](const std::vector<bool>& sums) {
    return read_elements(step.trace, flow, {ops, same, sums}, product);
  };
  EXPECT_EQ(read({false, true, false}), 256 * 96);
  EXPECT_EQ(read({false, false, false}), 2 * 256 * 96);
}

// Every other element: all sectors are fetched.
TEST(Slices, ElementsApartFetchTheirSectors) {
  FlowMaker m;
  m.op("aten::mm", "[[256,64],[64,192]]", half2, "", "hgemm");
  m.strides = "[[192,2]]";
  m.op("aten::sigmoid", "[[256,96]]", R"(["c10::Half"])");
  EXPECT_EQ(bytes_of(m, "sigmoid"), 3 * slice_bytes);
}

}  // namespace
}  // namespace tandem

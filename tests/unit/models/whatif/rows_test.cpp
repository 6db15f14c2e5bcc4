// Which operands lie as the rows of a softmax do, and of which rows the compiler asks it.
#include "models/whatif/compile/inductor/rows.h"

#include <gtest/gtest.h>

#include "tests/gpus_for_tests.h"
#include "tests/operands_for_tests.h"
#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;
using test::gpu;
using test::kernel_names;

TensorShape placed(std::string_view dims, std::string_view strides) {
  return test::parse_tensors(dims, "", strides).shapes.at(0);
}

TEST(Rows, OperandsLieAsTheLastDimensionsDo) {
  const TensorShape scores = placed("[[8, 12, 128, 128]]", "[[196608, 16384, 128, 1]]");
  EXPECT_TRUE(lies_as_rows(scores, scores));
  EXPECT_TRUE(lies_as_rows(placed("[[1, 12, 128, 128]]", "[[196608, 16384, 128, 1]]"), scores));
  EXPECT_TRUE(lies_as_rows(placed("[[128]]", "[[1]]"), scores));
  EXPECT_TRUE(lies_as_rows(placed("[[128]]", "[[0]]"), scores));  // strides were not recorded
  EXPECT_FALSE(lies_as_rows(placed("[[8, 1, 1, 128]]", "[[128, 128, 128, 1]]"), scores));
  EXPECT_FALSE(lies_as_rows(placed("[[8, 1, 128, 128]]", "[[16384, 16384, 128, 1]]"), scores));
  // Part of a mask of 256 positions.
  EXPECT_FALSE(lies_as_rows(placed("[[1, 1, 128, 128]]", "[[65536, 65536, 256, 1]]"), scores));
  EXPECT_FALSE(lies_as_rows(placed("[[2, 8, 12, 128, 128]]", "[[0, 0, 0, 0, 0]]"), scores));
}

// 132 SMs of 64 rows are 8448 rows: fewer might be split, and 64 elements fit in any case.
TEST(Rows, ManyLongRowsAreAskedFor) {
  EXPECT_TRUE(asks_for_order(gpu(), {8448, 128}));
  EXPECT_FALSE(asks_for_order(gpu(), {8447, 128}));
  EXPECT_FALSE(asks_for_order(gpu(), {24576, 64}));
}

// 12 heads of 144 rows are 1,728 sums of four bytes an item, of 128 bytes 54 times; 2,364 of 197
// rows are no such multiple; 8 x 100 are no more than 1,024. Three dimensions of 197 rows have 197.
TEST(Rows, SumsOfRowsLieApartWhereTheirNumberIsOdd) {
  EXPECT_FALSE(results_lie_apart(placed("[[64, 12, 144, 144]]", "[[0, 0, 0, 0]]"), 4));
  EXPECT_TRUE(results_lie_apart(placed("[[64, 12, 197, 197]]", "[[0, 0, 0, 0]]"), 4));
  EXPECT_FALSE(results_lie_apart(placed("[[64, 8, 100, 100]]", "[[0, 0, 0, 0]]"), 4));
  EXPECT_FALSE(results_lie_apart(placed("[[768, 197, 197]]", "[[0, 0, 0]]"), 4));
  EXPECT_TRUE(results_lie_apart(placed("[[8, 1214, 768]]", "[[0, 0, 0]]"), 4));
  EXPECT_FALSE(results_lie_apart(placed("[[1214, 768]]", "[[0, 0]]"), 4));
}

// Whether any score of a row is finite takes a byte: of an item, 12 heads of 128 rows are 1,536, a
// multiple of 128, those of 144 and 197 rows 1,728 and 2,364, which are none; of 65 rows they are
// no more than 1,024 and lie without a gap.
TEST(Rows, ScoresAreHeldWholeWhereNothingLiesApart) {
  const auto loops = [](std::int64_t items, std::int64_t places, bool back) {
    TensorShape scores;
    scores.dims = {items, 12, places, places};
    scores.rank = 4;
    return loops_scores(gpu(), scores, 1024, back);
  };
  EXPECT_FALSE(loops(64, 128, false));
  EXPECT_TRUE(loops(64, 144, false));
  EXPECT_TRUE(loops(64, 197, false));
  EXPECT_FALSE(loops(128, 65, false));
  EXPECT_FALSE(loops(2, 197, false));  // 4,728 rows, of which the compiler does not ask it
  EXPECT_TRUE(loops(2, 1025, false));  // longer than a block holds
  // Backward: 1,728 sums and 144 x 144 weights of four bytes are multiples of 128 bytes, 65 x 65
  // weights are none; 50 x 50 are none either, but a block holds 64 elements in any case.
  EXPECT_FALSE(loops(64, 128, true));
  EXPECT_FALSE(loops(64, 144, true));
  EXPECT_TRUE(loops(64, 197, true));
  EXPECT_TRUE(loops(128, 65, true));
  EXPECT_FALSE(loops(128, 50, true));
}

/// A softmax over 16 x 12 x 128 rows of 128 behind a mask of these dimensions.
std::string softmax_behind(const std::string& mask) {
  FlowMaker m;
  m.op("aten::add", "[[16,12,128,128]," + mask + ",[]]", R"(["float","float","Scalar"])");
  m.op("aten::_softmax", "[[16,12,128,128],[],[]]", R"(["float","Scalar","Scalar"])",
       R"(["","-1","False"])", "softmax");
  CompileBench s;
  const auto names = kernel_names(s.compile(m.step()));
  return names.size() == 1 ? names[0] : "";
}

// Of 9.3 and 5.1 us on an H200 (masked_softmax and biased_softmax of
// bench/capture/ops_generated.py).
TEST(Rows, AMaskOfEachItemMakesALoopAndABiasOfAllDoesNot) {
  EXPECT_TRUE(softmax_behind("[16,1,1,128]").starts_with("triton_red"));
  EXPECT_TRUE(softmax_behind("[1,12,128,128]").starts_with("triton_per"));
}

}  // namespace
}  // namespace tandem
